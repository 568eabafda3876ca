"""When work is due and what late work loses: the policy's late rule and its moments in time."""

from datetime import UTC, date, datetime, time
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator


class Strict(BaseModel):
    """No unknown keys, no conversion of one type to another, no change afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _moment(value: object) -> object:
    if isinstance(value, date) and not isinstance(value, datetime):
        raise ValueError(f"{value} has no time of day; write for example {value}T23:59:00+01:00")
    if isinstance(value, str | time):
        raise ValueError("expected a date and time without quotes, as in 2026-10-05T23:59:00+02:00")
    return value


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (OSError, ValueError):  # ZoneInfoNotFoundError is a KeyError
        raise ValueError(f"{value!r} is no time zone, expected a name like Europe/Berlin") from None
    except KeyError:
        raise ValueError(
            f"{value!r} is no time zone known here, expected a name like Europe/Berlin (on Windows "
            "`pip install tzdata` brings them)"
        ) from None
    return value


Percent = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
Moment = Annotated[datetime, BeforeValidator(_moment)]


class Late(Strict):
    """The late rule; percentages are 0 to 100."""

    due: Moment | None = None
    time_zone: Annotated[str, AfterValidator(_zone)] | None = None
    grace_minutes: Annotated[float, Field(ge=0, le=525_600, allow_inf_nan=False)] = 0.0
    percent_per_day: Percent = 0.0
    percent_of: Literal["score", "maximum"] = "score"
    cap_percent: Percent = 100.0
    drop_dead: Moment | None = None
    extensions: str | None = None

    @model_validator(mode="after")
    def _dates_make_sense(self) -> "Late":
        for name in ("due", "drop_dead"):
            moment = getattr(self, name)
            if moment and moment.utcoffset() is None and not self.time_zone:
                raise ValueError(
                    f"`{name}` = {moment.isoformat()} has no offset from UTC; append one (+01:00) "
                    "or set `time_zone`"
                )
            self.at(name)  # raises for a year that is a typo
        needing = [n for n in ("percent_per_day", "drop_dead", "extensions") if getattr(self, n)]
        if needing and self.due is None:
            raise ValueError(
                f"`{needing[0]}` is set, but there is no due date; add `due = "
                "2026-10-05T23:59:00+02:00` (date, time, offset from UTC)"
            )
        if self.due and self.drop_dead and self.aware(self.drop_dead) <= self.aware(self.due):
            raise ValueError("`drop_dead` is not after `due`")
        return self

    def at(self, name: Literal["due", "drop_dead"]) -> datetime | None:
        """The moment as an aware one, in UTC: days there are always 24 hours long."""
        moment = getattr(self, name)
        return None if moment is None else self.aware(moment)

    def shown(self, moment: datetime) -> str:
        """`2026-10-05 23:59 Europe/Berlin`: by the clocks of the course, where it has some."""
        zone = ZoneInfo(self.time_zone) if self.time_zone else UTC
        return f"{moment.astimezone(zone):%Y-%m-%d %H:%M} {self.time_zone or 'UTC'}"

    def aware(self, moment: datetime) -> datetime:
        """`moment` in UTC; where it names no offset, it is one of the policy's time zone.

        Raises ValueError where the policy has no time zone either, and for a year that is a typo.
        """
        if not 2000 <= moment.year < 3000:
            raise ValueError(f"the year is {moment.year}, expected one from 2000 to 2999")
        if moment.utcoffset() is None:
            if not self.time_zone:
                raise ValueError(
                    "it has no offset from UTC (as +02:00), and the policy names no `time_zone`"
                )
            moment = moment.replace(tzinfo=ZoneInfo(self.time_zone))
        return moment.astimezone(UTC)
