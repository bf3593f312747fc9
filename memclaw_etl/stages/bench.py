"""Everything that the stages need, in one value that is passed in."""

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from pydantic import TypeAdapter, ValidationError

from memclaw_etl.errors import UsageError
from memclaw_etl.interview.interviewer import Interviewer, build_interviewer
from memclaw_etl.interview.model_interviewer import ModelInterviewer
from memclaw_etl.interview.model_purse import DAY_BUDGET, Purse
from memclaw_etl.lake.ledger import Ledger, open_ledger
from memclaw_etl.lake.ledger.identifiers import sha1_hex
from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.lake.responses import FileResponseCache
from memclaw_etl.lake.stage_files import StageFiles
from memclaw_etl.lake.vectors import VectorFiles
from memclaw_etl.masking import Masker, MaskSession, PersonalData, open_masker
from memclaw_etl.memories.embeddings import EmbeddingModel
from memclaw_etl.settings import InterviewerName, Settings
from memclaw_etl.stages.answers import MaskedAnswers
from memclaw_etl.stages.embedding import chosen_model, made_by_of, note_made_by


@dataclass(frozen=True)
class Bench:
    """One home's stores and tools. What is expensive is opened on first use."""

    settings: Settings

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger of this home."""
        return open_ledger(self.settings.ledger_address)

    @cached_property
    def files(self) -> StageFiles:
        """The stage files of this lake."""
        return StageFiles(self.settings.lake_root / "stages")

    @cached_property
    def masker(self) -> Masker:
        """The masker; its compiled rules are cached in the home."""
        return open_masker(self.settings.cache_dir)

    def personal_data(self, tenant_id: str) -> PersonalData:
        """What becomes of personal data of this tenant."""
        return PersonalData(self.settings.personal_data_of(tenant_id))

    def mask_session(self, tenant_id: str) -> MaskSession:
        """Begin to mask texts of this tenant."""
        return self.masker.session(personal_data=self.personal_data(tenant_id))

    @cached_property
    def embedder(self) -> EmbeddingModel:
        """The embedding model of the settings. It may not be the one that made the index."""
        return chosen_model(self.settings, self.ledger, self.masker, self.vectors)

    @cached_property
    def vectors(self) -> VectorFiles:
        """Vectors that cost money or much time, by text."""
        return VectorFiles(self.settings.lake_root / "vectors")

    @property
    def index(self) -> MemoryIndex:
        """The memory index of this lake.

        Raises:
            HomeMismatchError: another embedding model made it, perhaps since it was opened.
        """
        opened: MemoryIndex | None = self.__dict__.get("_index")
        if opened is None or opened.made_by != made_by_of(self.embedder):
            opened = self.__dict__["_index"] = self.open_index()
        return opened

    def open_index(self) -> MemoryIndex:
        """Open the memory index anew, and note in the ledger what made it.

        Raises:
            HomeMismatchError: another embedding model made it.
        """
        index = MemoryIndex.open(
            self.index_uri,
            dimension=self.embedder.dimension,
            model_id=self.embedder.model_id,
            ledger_id=self.ledger.ledger_id,
        )
        note_made_by(self.settings, self.ledger, index.made_by)
        return index

    def memory_rows(self) -> pa.Table:
        """Every row of the memory index, without vectors."""
        return self.index.all_rows()

    @property
    def index_uri(self) -> str:
        """Where the memory index is."""
        return str(self.settings.lake_root / "index")

    def responses(self, tenant_id: str) -> MaskedAnswers:
        """The response cache of one tenant; what is put there is masked first."""
        return MaskedAnswers(
            self.stored_responses(tenant_id), session=lambda: self.mask_session(tenant_id)
        )

    def stored_responses(self, tenant_id: str) -> FileResponseCache:
        """The files of that cache."""
        return FileResponseCache(self.settings.lake_root / "responses" / sha1_hex(tenant_id)[:12])

    def interviewer(self, name: str) -> Interviewer:
        """The interviewer of that name.

        Raises:
            UsageError: there is none.
            SettingsError: the model's endpoint wants a key, and the environment has none.
        """
        chosen: TypeAdapter[InterviewerName] = TypeAdapter(InterviewerName)
        try:
            known = chosen.validate_python(name)
        except ValidationError:
            raise UsageError(f"there is no interviewer {name!r}") from None
        return self.model_interviewer if known == "openai" else build_interviewer(known)

    @cached_property
    def model_interviewer(self) -> ModelInterviewer:
        """The interviewer that asks a model."""
        return ModelInterviewer(
            self.settings.model,
            purse=self.purse,
            abilities_folder=self.settings.cache_dir / "endpoints",
            clock=self.ledger.now,
        )

    @cached_property
    def purse(self) -> Purse:
        """What this process may spend on a model, and what it has spent."""
        return Purse(self.settings.model)

    def endpoint(self, interviewer: str) -> str | None:
        """The resource that every interview of that kind needs, for its breaker; None: none.

        Where rules step in for a model that is down, nothing waits for it.
        """
        waits = interviewer == "openai" and self.settings.on_model_failure == "fail"
        return self.settings.model.resource if waits else None

    def needs(self, interviewer: str) -> tuple[str, ...]:
        """What no window of that interviewer is done without: endpoints, the day's budget."""
        endpoint, embedding = self.endpoint(interviewer), self.settings.embedding.resource
        asked = (endpoint, DAY_BUDGET) if endpoint is not None else ()
        return asked if embedding in (None, endpoint) else (*asked, str(embedding))
