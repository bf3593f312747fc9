"""The words that names of settings are judged by."""


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


PASSWORD_WORDS = _words("""
    kennwort pass passcode passphrase passwd password passworsd passwort passwrd paswd
    pasword paswrd psswd pssword psswrd psw pswd psword pswrd pw pwd
""")
"""Any of them makes a name that of a password."""

CREDENTIAL_WORDS = _words("""
    apikey auth authorization authtoken bearer cookie cred credential credentials creds dsn
    jwt otp pat preshared psk salt secret secrets sig srt token tokens totp webhook
""")
"""Any of them makes a name that of a token, key or secret."""

KEY_QUALIFIERS = _words("""
    access account activation admin aes airtable akamai algolia amplitude ansi anthropic api
    app auth auth0 aws azure binance bitbucket bot cf client cloudant cloudflare cohere
    coinbase consul consumer contentful crypto database datadog db dd decrypt deploy
    digitalocean discord elastic encrypt encryption facebook fastly figma firebase function
    gcp github gitlab google gpg groq heroku hf hmac host hubspot huggingface ingest insert
    intercom jira jwt kraken langfuse langsmith license linear linkedin linode live mailgun
    mapbox master mistral mixpanel mongodb netlify newrelic notion npm okta openai
    openrouter paypal pinecone plaid planetscale posthog preshared private prod pulumi pypi
    read redis replicate root rsa secret segment sendgrid sentry server service shared
    sharedaccess shopify signing sl slack snyk softlayer sonar square ssh storage stripe
    subscription supabase telegram terraform test twilio twitter typeform user vault vercel
    vultr wandb webhook write zendesk
""")
"""Words that make a `key` a secret one, issuers among them."""

NOT_LAST = _words("""
    alg algorithm arn at board budget budget_tokens cached checksum class column count
    counter counts date digest dir down enabled encoder endpoint error errors exists
    expiration expires expiry field fields file files fingerprint format frame group handler
    hash hint host id ids idx in index input kind label len length limit limits list
    location manager manifest map max method min mode name names num out output page path
    paths pattern per policy pool prefix press prompt provider rate ref regex required reset
    rule rules service set size state status store strength stroke suffix test tests time
    timestamp total ttl type types up uri url urls usage used user username validator
    version window
""")
"""A name that ends in one of these speaks about a credential, it holds none."""

NOT_KEYS = _words("""
    cache cert composite dedup dict event foreign group hash hot i18n idempotency index join
    locale lookup map message object order partition primary pub public query range registry
    row s3 session sha short sort translation unique
""")
"""Words in front of `key` that make it harmless."""
