"""Adding up what a runtime has consumed, and refusing what a budget does not allow."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .errors import BudgetExceededError, InvalidRequestError
from .seam import Usage

__all__ = ["Budget", "UsageMeter", "UsageTotal"]


@dataclass(frozen=True, slots=True)
class Budget:
    """What a runtime may consume over its life; None is no limit.

    Raises:
        InvalidRequestError: A limit is negative or not a number.
        TypeError: A limit is of the wrong type.
    """

    calls: int | None = None
    """Calls to a provider, failed ones included; several queries in one request are one."""
    searches: int | None = None
    """Searches that the providers report (or, where they report none, one per call). A call that
    is still running counts as one until it has ended."""
    usd: float | None = None
    """US dollars, as reported or estimated. The call that crosses the line still runs, and so do
    those that are under way by then: what a call costs is known only at its end."""

    def __post_init__(self) -> None:
        for name in ("calls", "searches", "usd"):
            limit = getattr(self, name)
            kinds = (int, float) if name == "usd" else (int,)
            if limit is None:
                continue
            if isinstance(limit, bool) or not isinstance(limit, kinds):
                what = "a number" if name == "usd" else "a whole number"
                raise TypeError(f"{name} must be {what} or None, not {limit!r}")
            if math.isnan(limit) or limit < 0:
                raise InvalidRequestError(f"{name} must be 0 or more, not {limit!r}")


@dataclass(frozen=True, slots=True)
class UsageTotal:
    """What a runtime has consumed so far; a snapshot."""

    calls: int = 0
    failed_calls: int = 0
    """Calls that ended in an error, or were left before their end. What they cost is unknown,
    apart from what a stream had reported by then."""
    searches: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cost_usd: float = 0.0
    """Sum of what is known."""
    estimated_calls: int = 0
    """Calls whose cost is an estimate from a price table."""
    unpriced_calls: int = 0
    """Calls whose cost is not known at all."""

    @property
    def is_exact(self) -> bool:
        """Whether `cost_usd` is the providers' own sum for every call that was made."""
        return not (self.failed_calls or self.estimated_calls or self.unpriced_calls)


class UsageMeter:
    """Counts calls and their usage; safe to use from any thread."""

    def __init__(self, budget: Budget | None) -> None:
        self._budget = budget or Budget()
        self._total = UsageTotal()
        self._running = 0
        self._lock = threading.Lock()
        self._process = os.getpid()

    @property
    def total(self) -> UsageTotal:
        """What has been consumed so far."""
        return self._total

    @property
    def budget(self) -> Budget:
        """The limits."""
        return self._budget

    def admit(self) -> None:
        """Count a call that is about to run.

        Raises:
            BudgetExceededError: The budget is used up; nothing is counted.
        """
        self._leave_parent_behind()
        with self._lock:
            fault = self._fault()
            if fault is not None:
                raise BudgetExceededError(
                    f"the web budget is used up ({fault}): answer with what you have, "
                    "or ask for a larger budget"
                )
            self._running += 1
            self._total = replace(self._total, calls=self._total.calls + 1)

    def withdraw(self) -> None:
        """Take back a call that was admitted but never sent."""
        with self._lock:
            self._running -= 1
            self._total = replace(self._total, calls=self._total.calls - 1)

    def record(self, usage: Usage | None, *, searches: int = 1) -> None:
        """Add what a finished call has consumed.

        Args:
            usage: As the result says.
            searches: How many searches the call counts as if its usage does not say.
        """
        usage = usage or Usage()
        with self._lock:
            self._running -= 1
            self._add(usage, searches if usage.searches is None else usage.searches)
            self._total = replace(
                self._total,
                estimated_calls=self._total.estimated_calls + usage.cost_is_estimate,
                unpriced_calls=self._total.unpriced_calls + (usage.cost_usd is None),
            )

    def record_failure(self, reported: Usage | None = None) -> None:
        """Note that a call that was admitted has failed, and what it had reported until then."""
        usage = reported or Usage()
        with self._lock:
            self._running -= 1
            self._add(usage, usage.searches or 0)
            self._total = replace(self._total, failed_calls=self._total.failed_calls + 1)

    def _add(self, usage: Usage, searches: int) -> None:
        total = self._total
        # No number of a provider's may give back what others have used up.
        self._total = replace(
            total,
            searches=total.searches + max(0, searches),
            input_tokens=total.input_tokens + max(0, usage.input_tokens or 0),
            output_tokens=total.output_tokens + max(0, usage.output_tokens or 0),
            total_tokens=total.total_tokens + max(0, usage.total_tokens or 0),
            cost_usd=total.cost_usd + max(0.0, usage.cost_usd or 0.0),
        )

    def _fault(self) -> str | None:
        searches = self._total.searches + self._running
        limits: tuple[tuple[str, float | None, float, Callable[[Any], str]], ...] = (
            ("calls", self._budget.calls, self._total.calls, str),
            ("searches", self._budget.searches, searches, str),
            ("US dollars", self._budget.usd, self._total.cost_usd, "{:.4f}".format),
        )
        for name, limit, used, shown in limits:
            if limit is not None and used >= limit:
                return f"{shown(used)} of {shown(limit)} {name}"
        return None

    def _leave_parent_behind(self) -> None:
        """After a fork, forget the parent's running calls: nobody here will ever end them."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._lock = threading.Lock()
            self._running = 0
