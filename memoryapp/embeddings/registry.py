"""Which embedder this process uses."""

from functools import lru_cache

from memoryapp.conf import get_conf
from memoryapp.embeddings import bundled
from memoryapp.embeddings.base import Embedder
from memoryapp.embeddings.voyage import VoyageEmbedder


@lru_cache(maxsize=1)
def get_embedder() -> Embedder:
    """The configured embedder, one per process; cheap until it is first used, and never failing before."""
    conf = get_conf()
    if conf.embedder == "voyage":
        return VoyageEmbedder(
            base_url=conf.voyage_base_url,
            api_key=conf.voyage_api_key,
            model=conf.voyage_model,
            timeout_s=conf.voyage_timeout_s,
            max_retries=conf.voyage_max_retries,
        )
    if conf.bundled_model == "minilm":
        return bundled.minilm(threads=conf.embedding_threads, batch_size=conf.embedding_batch_size)
    if conf.bundled_model == "use":
        return bundled.use(threads=conf.embedding_threads)
    return bundled.pair(threads=conf.embedding_threads, batch_size=conf.embedding_batch_size)


def reset_embedder() -> None:
    """Choose anew at the next call, for tests that change the configuration."""
    get_embedder.cache_clear()
