import type { SeededRandom } from "@baton/runtime";
import { below } from "./mutate-bytes.ts";
import { oddValues } from "./schema-values.ts";

/** A copy of a value with one place changed: odd, gone, doubled, renamed, nested, or taken from another value. */
export function mutateValue(value: unknown, other: unknown, random: SeededRandom): unknown {
  if (typeof value !== "object" || value === null || below(random, 12) === 0) {
    return oddValues[below(random, oddValues.length)];
  }
  if (Array.isArray(value)) return mutateList(value, other, random);
  const entries = Object.entries(value);
  if (entries.length === 0) return { [randomKey(other, random)]: other };
  const at = below(random, entries.length);
  const [key, field] = entries[at] ?? ["", null];
  switch (below(random, 8)) {
    case 0:
      entries.splice(at, 1);
      break;
    case 1:
      entries[at] = [randomKey(other, random), field];
      break;
    case 2:
      entries[at] = [key, nested(field, 1 + below(random, 140))];
      break;
    case 3:
      entries.push([randomKey(other, random), oddValues[below(random, oddValues.length)]]);
      break;
    case 4:
      entries[at] = [key, fieldOf(other, key, random)];
      break;
    default:
      entries[at] = [key, mutateValue(field, other, random)];
  }
  return Object.fromEntries(entries);
}

function mutateList(list: readonly unknown[], other: unknown, random: SeededRandom): unknown {
  const at = below(random, list.length + 1);
  switch (below(random, 5)) {
    case 0:
      return list.toSpliced(at, 1);
    case 1:
      return list.toSpliced(at, 0, other);
    case 2:
      return list.length > 200 ? list.slice(0, 2) : [...list, ...list, ...list];
    default:
      return at === list.length ? list : list.with(at, mutateValue(list[at], other, random));
  }
}

/** So deep in arrays. */
function nested(value: unknown, depth: number): unknown {
  let result = value;
  for (let level = 0; level < depth; level += 1) result = [result];
  return result;
}

function randomKey(other: unknown, random: SeededRandom): string {
  const keys = typeof other === "object" && other !== null ? Object.keys(other) : [];
  const more = ["__proto__", "constructor", "", "toString", "kv_transfer_params", "tools", "x"];
  const all = [...keys, ...more];
  return all[below(random, all.length)] ?? "";
}

function fieldOf(other: unknown, key: string, random: SeededRandom): unknown {
  if (typeof other !== "object" || other === null) return other;
  if (Object.hasOwn(other, key) && below(random, 2) === 0) {
    return (other as Readonly<Record<string, unknown>>)[key];
  }
  const values = Object.values(other);
  return values[below(random, values.length)];
}
