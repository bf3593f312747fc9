"""Word lists by which non-business content is known, by language. Ours, general, of no session.

Every entry is a phrase that hardly ever stands in a sentence about work. `BUSINESS` is the other
way round: a sentence with one of these words is about work, whatever else it says.
"""

from collections.abc import Mapping

_KIN_EN = (
    r"wife|husband|girlfriend|boyfriend|fianc[eé]e?|mother|mom|mum|father|dad|daughter|sons?|kids?"
    r"|grandmother|grandma|grandfather|grandpa|grandson|granddaughter|aunt|uncle|nephew|niece"
    r"|brother|sister|parents|in-laws|stepson|stepdaughter|baby"
)
_KIN_DE = (
    r"frau|mann|freundin|verlobte[rn]?|mutter|mama|vater|papa|tochter|sohn|oma|opa|großmutter"
    r"|großvater|enkel(?:in)?|tante|onkel|neffen?|nichte|bruder|schwester|eltern"
    r"|schwiegermutter|schwiegervater|baby"
)
_KIN_FR = (
    r"femme|mari|copine|copain|fiancée?|mère|maman|père|papa|fille|fils|grand-mère|grand-père"
    r"|tante|oncle|neveu|nièce|frère|sœur|beaux-parents|bébé"
)
_KIN_ES = (
    r"esposa|esposo|marido|novia|novio|madre|mamá|padre|papá|hijas?|hijos?|abuela|abuelo|tía|tío"
    r"|sobrina|sobrino|hermana|hermano|suegra|suegro|bebé"
)
NO_KIN = r"(?!\s+(?:compan|site|project|team|ship|board|process|class|node|tongue|language|brand))"
"""Behind a word of kinship: it is a figure of speech."""

SMALL_TALK: Mapping[str, str] = {
    "en": (
        r"hi|hello|hey|good (?:morning|afternoon|evening|night)|how are you(?: doing)?"
        r"|how(?: i|')s it going|what's up|nice to (?:meet|see) you|see you(?: soon| later)?"
        r"|good ?bye|bye(?: bye)?|have a (?:nice|good|great|lovely) (?:day|evening|weekend|one)"
        r"|thank you|thanks|cheers|you(?:'re| are) welcome|no worries|happy (?:birthday|new year)"
        r"|merry christmas|congratulations|congrats|take care|good luck|enjoy your (?:weekend|meal)"
        r"|(?:what|such) (?:a )?(?:lovely|nice|beautiful|terrible) weather"
        r"|hope you(?:'re| are) (?:well|doing well)|lol|haha+"
    ),
    "de": (
        r"hallo|guten (?:morgen|tag|abend)|gute nacht|moin|servus|grüß gott|wie geht(?:'s| es dir"
        r"| es ihnen)|tschüss|auf wiedersehen|bis (?:bald|morgen|dann)|vielen dank|danke(?: schön)?"
        r"|bitte schön|gern geschehen|schönes wochenende|schönen (?:tag|abend|feierabend)"
        r"|alles gute(?: zum geburtstag)?|frohe weihnachten|herzlichen glückwunsch|mahlzeit"
    ),
    "fr": (
        r"bonjour|bonsoir|salut|bonne (?:journée|soirée|nuit|année)|comment (?:ça va|allez-vous)"
        r"|ça va|au revoir|à (?:bientôt|demain)|merci(?: beaucoup| bien)?|de rien|bon week-end"
        r"|bon appétit|joyeux (?:noël|anniversaire)|félicitations"
    ),
    "es": (
        r"hola|buen(?:os días|as tardes|as noches)|qué tal|cómo (?:estás|está usted)|adiós"
        r"|hasta (?:luego|mañana|pronto)|muchas gracias|gracias|de nada|buen fin de semana"
        r"|feliz (?:cumpleaños|navidad|año nuevo)|felicidades"
    ),
}
"""A sentence that is nothing else is small talk."""

_FILLER_WORDS = """
a again all and at dear doing everybody everyone for friend friends guys i it lot my now of oh
so soon team that the there to today too very well with you your yes ok okay please
alle alles auch euch dir ihnen liebe lieber leute nochmal noch so und zusammen sehr
à aussi encore et tous tout le monde toi vous y
amigo amigos también todos tú usted ustedes
"""
SMALL_TALK_FILLER = frozenset(_FILLER_WORDS.split())
"""Words that may stand beside small talk without making it anything else."""

PRIVATE_LIFE: Mapping[str, str] = {
    "en": (
        rf"(?:my|his|her|their|your|our|user's|\w+'s) (?:\w+ )?(?:{_KIN_EN})\b{NO_KIN}"
        r"|(?:got|getting|is|was) (?:married|divorced|engaged to)|(?:my|our|their) (?:wedding"
        r"|honeymoon|divorce|marriage|birthday|anniversary party|funeral|love life|private life)"
        r"|birthday party|baby shower|date night|went on a date|breaking up with|broke up with"
        r"|fell in love|family (?:reunion|dinner|vacation|holiday|trip)"
    ),
    "de": (
        rf"(?:mein|dein|sein|ihr|unser|euer)(?:e|er|en|em|es)? (?:{_KIN_DE})\b"
        r"|(?:meine|unsere|ihre|seine) (?:hochzeit|scheidung|flitterwochen|kinder|familie"
        r"|geburtstagsfeier|beerdigung)|geburtstagsfeier|familienfeier|familienurlaub"
        r"|(?:hat|haben|habe) (?:sich )?(?:verlobt|scheiden lassen)|frisch verliebt"
    ),
    "fr": (
        rf"(?:ma|mon|sa|son|ta|ton|notre|votre|leur|mes|ses) (?:{_KIN_FR})\b"
        r"|(?:mon|notre|leur) (?:mariage|divorce)|mes enfants|ma famille|fête d'anniversaire"
        r"|voyage de noces|tombée? amoureu(?:x|se)"
    ),
    "es": (
        rf"(?:mi|mis|su|sus|tu|tus|nuestr[oa]s?) (?:{_KIN_ES})\b"
        r"|(?:mi|nuestra|su) (?:boda|luna de miel|divorcio)|mi familia|fiesta de cumpleaños"
        r"|reunión familiar"
    ),
}

HEALTH: Mapping[str, str] = {
    "en": (
        r"(?:my|his|her|their|your|user's|\w+'s) (?:\w+ )?(?:doctor|dentist|therapist|psychiatrist"
        r"|back pain|knee|blood pressure|cholesterol|medication|allerg(?:y|ies)|diagnosis|anxiety"
        r"|depression|pregnancy|surgery|chemotherapy|cancer|illness|insomnia|asthma|diabetes)"
        r"|(?:doctor|doctor's|dentist|therapy|hospital) (?:appointment|visit)|panic attacks?"
        r"|(?:has|have|had|got|caught|with) (?:a |the )?(?:flu|migraines?|covid|fever|bad cold"
        r"|pneumonia|diabetes|asthma|cancer|stroke|heart attack|broken (?:arm|leg|foot))"
        r"|(?:i'm|i am|is|was|she's|he's) (?:\w+ )?(?:pregnant|in hospital|hospitali[sz]ed"
        r"|allergic to|on antidepressants|off sick)|called in sick|on sick leave|antidepressants?"
        r"|miscarriage|physiotherapy|blood test results?"
    ),
    "de": (
        r"(?:mein|dein|sein|ihr)(?:e|er|en|em)? (?:arzt|ärztin|zahnarzt|therapeut(?:in)?|rücken"
        r"|knie|blutdruck|medikamente?|allergie|diagnose|depression|schwangerschaft|krankheit)"
        r"|arzttermin|zahnarzttermin|(?:hat|habe|hatte) (?:\w+ )?(?:grippe|migräne|fieber|krebs"
        r"|diabetes|asthma|corona)|(?:bin|ist|war) (?:\w+ )?(?:schwanger|krankgeschrieben"
        r"|im krankenhaus)|krankmeldung|panikattacken?|chemotherapie|physiotherapie"
    ),
    "fr": (
        r"(?:mon|ma|son|sa|mes|ses) (?:médecin|dentiste|psychiatre|dos|genou|tension"
        r"|médicaments?|allergies?|grossesse|maladie|dépression)|rendez-vous chez le (?:médecin"
        r"|dentiste)|(?:ai|a|avait) (?:la |une |de la )?(?:grippe|migraine|fièvre)|est enceinte"
        r"|arrêt maladie|chimiothérapie|crise de panique"
    ),
    "es": (
        r"(?:mi|su|mis|sus) (?:médico|dentista|psiquiatra|espalda|rodilla|tensión|medicación"
        r"|alergias?|embarazo|enfermedad|depresión)|cita con el (?:médico|dentista)"
        r"|(?:tengo|tiene|tenía) (?:gripe|migraña|fiebre|cáncer|diabetes|asma)|está embarazada"
        r"|baja por enfermedad|quimioterapia|ataque de pánico"
    ),
}

POLITICS: Mapping[str, str] = {
    "en": (
        r"(?:vot(?:e|ed|ing) (?:for|against) (?:the |a )?(?:democrats?|republicans?|labour|tor(?:y"
        r"|ies)|conservatives?|greens?|liberals?|socialists?|president|mayor|senator))"
        r"|(?:democratic|republican|labour|conservative|green|liberal|socialist|communist) party"
        r"|(?:presidential|general|parliamentary|midterm) elections?|election campaign"
        r"|prime minister|(?:left|right)-wing|far[- ](?:left|right)|abortion|gun control"
        r"|immigration (?:policy|law)|political (?:party|views?|opinions?|debate)"
        r"|(?:the|a) (?:referendum|congressman|congresswoman|coup)|pro-life|pro-choice"
    ),
    "de": (
        r"bundestagswahl|landtagswahl|wahlkampf|bundeskanzler(?:in)?|ministerpräsident(?:in)?"
        r"|(?:wähle|wählt|gewählt|wählen) (?:die )?(?:cdu|csu|spd|fdp|afd|grünen|linke)"
        r"|rechtsextrem\w*|linksextrem\w*|abtreibung|volksentscheid|politische (?:meinung"
        r"|ansichten|debatte)|asylpolitik|migrationspolitik"
    ),
    "fr": (
        r"élections? (?:présidentielles?|législatives?)|premier ministre|(?:extrême|l'extrême)"
        r"[- ](?:droite|gauche)|campagne électorale|avortement|opinions? politiques?"
        r"|voté pour (?:le|la|les) (?:gauche|droite|socialistes?|républicains?|verts)"
    ),
    "es": (
        r"elecciones (?:generales|presidenciales|municipales)|primer ministro|campaña electoral"
        r"|(?:extrema|ultra) ?(?:derecha|izquierda)|aborto|opini(?:ón|ones) políticas?"
        r"|(?:voté|votó|votar) (?:por|a) (?:la |los )?(?:izquierda|derecha|socialistas|populares)"
    ),
}

_BUSINESS_WORDS = """
account accounts acceptance agent agents alert alerts algorithm api app application apps
architecture article audit authentication backend backlog backup benchmark bug bugs build
builds business cache calendar campaigns chart chatbot class client clients cloud code codebase
column columns command commit commits company component config configuration contract
customer customers dashboard data database dataset deadline debug dependency deploy deployed
deployment design developer docs documentation domain email employee endpoint endpoints
environment error errors export feature features field fields file files fix fixed form
framework frontend function functions git github hospital's implementation import index
infrastructure integration interface invoice issue issues json kernel launch library log logs
marketing meeting memory metric metrics migration milestone model module node office order
orders package page pages parser patch patient patients payment pipeline plugin policy port
pricing process product production project projects prompt prototype pull python query queue
refactor release releases repo report reports repository request requests review roadmap row
rows runtime schema script sdk server servers service services session sprint sql stakeholder
storage story stories supplier support survey system table tables task tasks team template test
tests thread ticket tickets timeout token tool tools ui update upload url user users vendor
version website widget workflow window worker
abrechnung anforderung angebot anwendung anwender aufgabe auftrag auftrags besprechung build
code datei dateien daten datenbank dienst dokumentation entwickler fehler firma formular
funktion kunde kunden lieferant lizenz modul patienten produkt programm projekt prozess
rechnung schnittstelle server sitzung skript software spalte tabelle termin test tests
umgebung version vertrag vertrieb webseite zeile
application base client code contrat données dépôt erreur facture fichier fichiers fonction
fournisseur formulaire logiciel module patients produit projet requête réunion serveur tableau
tâche
aplicación archivo archivos base cliente código contrato datos entrega error factura formulario
función módulo pacientes producto proyecto proveedor reunión servidor tabla tarea
"""
BUSINESS = frozenset(_BUSINESS_WORDS.split())
"""A sentence with one of these words is about work."""
