interface Family {
  readonly comments: Map<string, string>;
  readonly samples: Map<string, string>;
}

const commentPattern = /^# (HELP|TYPE) (\S+)/;

/**
 * Joins the metrics pages of several processes into one: each name's HELP and TYPE once, all its samples below.
 * Of a series that two pages share, the first page's value stays.
 */
export function mergeMetricsText(texts: readonly string[]): string {
  const families = new Map<string, Family>();
  for (const text of texts) addPage(families, text);
  const blocks = [...families.values()].map((family) =>
    [...family.comments.values(), ...family.samples.values()].join("\n"),
  );
  return blocks.length === 0 ? "" : `${blocks.join("\n\n")}\n`;
}

function addPage(families: Map<string, Family>, text: string): void {
  let family: Family | null = null;
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const comment = commentPattern.exec(line);
    if (comment !== null) {
      family = familyOf(families, comment[2] ?? "");
      const kind = comment[1] ?? "";
      if (!family.comments.has(kind)) family.comments.set(kind, line);
    } else if (!line.startsWith("#")) {
      const series = line.slice(0, endOfSeries(line));
      family ??= familyOf(families, series);
      if (!family.samples.has(series)) family.samples.set(series, line);
    }
  }
}

function familyOf(families: Map<string, Family>, name: string): Family {
  const known = families.get(name);
  if (known !== undefined) return known;
  const family: Family = { comments: new Map(), samples: new Map() };
  families.set(name, family);
  return family;
}

/** A series is a name with its labels; label values may hold spaces and braces. */
function endOfSeries(line: string): number {
  const brace = line.lastIndexOf("}");
  return brace === -1 ? line.indexOf(" ") : brace + 1;
}
