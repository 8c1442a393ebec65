"""``/metrics`` in Prometheus' text format: the figures of ``operating``, read anew at every scrape."""

import hmac
from collections.abc import Iterable, Iterator, Mapping

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client.core import CollectorRegistry, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from memoryapp.accounts import queries as accounts
from memoryapp.conf import get_conf
from memoryapp.inspector.administration.operating import Operations, operations

PREFIX = "strata"


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """For staff: by their session, by an API token of theirs, or by the token in ``STRATA_METRICS_TOKEN``."""
    if not (request.user.is_authenticated and request.user.is_staff) and not _is_scraper(request):
        raise PermissionDenied
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures(operations(now=timezone.now())))
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _is_scraper(request: HttpRequest) -> bool:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        return False
    expected = get_conf().metrics_token.get_secret_value()
    if expected and hmac.compare_digest(token.encode(), expected.encode()):
        return True
    found = accounts.user_of_token(token)
    return found is not None and found[0].is_staff


class _Figures(Collector):
    def __init__(self, figures: Operations) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        found = self._figures
        yield _gauge("turns", "Turns that are not over.", ["status"], _keyed(found.turns))
        oldest = found.oldest_queued_at
        waited_s = (timezone.now() - oldest).total_seconds() if oldest else 0.0
        yield _gauge(
            "oldest_queued_turn_seconds", "How long the first turn in the queue waits.", [], [((), waited_s)]
        )
        known = {name: waiting for name, waiting in found.queues.items() if waiting is not None}
        yield _gauge("queue_messages", "Messages that wait in the broker.", ["queue"], _keyed(known))
        backlog = _keyed(found.embedding_backlog)
        yield _gauge(
            "embedding_backlog_rows", "Rows without a vector of the current model.", ["sort"], backlog
        )
        yield _gauge(
            "open_breakers", "Chats summarised without the model for now.", [], [((), found.open_breakers)]
        )
        storage = [((stored.tier,), stored.size_bytes) for stored in found.storage]
        yield _gauge("storage_bytes", "Tables with their indexes.", ["tier"], storage)
        jobs = [((job.job,), job.runs) for job in found.jobs]
        yield _gauge("jobs_last_day", "Runs of background jobs in 24 hours.", ["job"], jobs)
        failures = [((job.job,), job.failures) for job in found.jobs]
        yield _gauge("job_failures_last_day", "Those that failed.", ["job"], failures)
        failed = [((each.error_code,), each.count) for each in found.failed_turns]
        yield _gauge("failed_turns_last_day", "Turns that failed in 24 hours.", ["code"], failed)
        tokens = [
            ((cost.purpose, cost.model, direction), value)
            for cost in found.costs
            for direction, value in (("input", cost.input_tokens), ("output", cost.output_tokens))
        ]
        yield _gauge("tokens_last_day", "Tokens in 24 hours.", ["purpose", "model", "direction"], tokens)


def _gauge(
    name: str, documentation: str, labels: list[str], values: Iterable[tuple[tuple[str, ...], float]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"{PREFIX}_{name}", documentation, labels=labels)
    for of, value in values:
        family.add_metric(of, value)
    return family


def _keyed(values: Mapping[str, float]) -> list[tuple[tuple[str, ...], float]]:
    return [((name,), value) for name, value in values.items()]
