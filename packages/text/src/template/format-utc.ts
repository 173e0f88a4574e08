const months =
  "January February March April May June July August September October November December";
const weekdays = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday";
const monthNames = months.split(" ");
const weekdayNames = weekdays.split(" ");
const msPerDay = 86_400_000;

interface UtcDate {
  readonly year: number;
  /** From 1. */
  readonly month: number;
  readonly day: number;
  /** From 0, Sunday. */
  readonly weekday: number;
}

/** The Gregorian date of a day counted from 1970-01-01: years from March, so that the leap day is the last of its year. */
function dateOfDay(daysSinceEpoch: number): UtcDate {
  const shifted = daysSinceEpoch + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1,
    weekday: (((daysSinceEpoch + 4) % 7) + 7) % 7,
  };
}

/** Formats a time in UTC by a `strftime` format: %Y %m %d %b %B %a %A %y %H %M %S %%. Other directives stay as they are. */
export function formatUtc(epochMs: number, format: string): string {
  const days = Math.floor(epochMs / msPerDay);
  const seconds = Math.floor((epochMs - days * msPerDay) / 1000);
  const { year, month, day, weekday } = dateOfDay(days);
  const monthName = monthNames[month - 1] ?? "";
  const weekdayName = weekdayNames[weekday] ?? "";
  const values: Readonly<Record<string, string>> = {
    Y: String(year),
    y: twoDigits(year % 100),
    m: twoDigits(month),
    d: twoDigits(day),
    B: monthName,
    b: monthName.slice(0, 3),
    A: weekdayName,
    a: weekdayName.slice(0, 3),
    H: twoDigits(Math.floor(seconds / 3600)),
    M: twoDigits(Math.floor(seconds / 60) % 60),
    S: twoDigits(seconds % 60),
    "%": "%",
  };
  return format.replace(
    /%([A-Za-z%])/g,
    (directive, letter: string) => values[letter] ?? directive,
  );
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}
