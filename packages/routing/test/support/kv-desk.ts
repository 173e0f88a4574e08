import type { RouteDecode } from "@baton/protocol";
import { routeDecode } from "@baton/testing";
import { deskRig } from "./desk-rig.ts";
import { FakeFeeds, promptOf } from "./fake-feeds.ts";
import { workerView } from "./fake-view.ts";

/** A desk in mode `kv` that follows what its workers hold: by default `w-1` and `w-2`, which hold nothing. */
export function kvDesk(
  workers = [workerView("w-1"), workerView("w-2")],
  changes: Parameters<typeof deskRig>[1] = {},
) {
  const feeds = new FakeFeeds();
  const rig = deskRig(workers, {
    flags: { routerMode: "kv" },
    openFeed: feeds.open,
    ...changes,
    policy: { usesKvEvents: (workerType) => workerType === "decode", ...changes.policy },
  });
  rig.desk.workersChanged();
  /** Where a request went; undefined if it was not sent. */
  const sentTo = async (request: RouteDecode): Promise<string | undefined> => {
    rig.desk.take(request);
    const lines = await rig.heard();
    const sent = lines.find((line) => line.startsWith("booked"));
    return sent?.split(" ")[2];
  };
  /** What the desk would compare for a request, by worker and rank. */
  const terms = (request: RouteDecode = asking("probe")) =>
    Object.fromEntries(
      rig.desk
        .explain(request)
        .candidates.map(({ workerId, dpRank, terms: of }) => [`${workerId}/${dpRank}`, of]),
    );
  return { ...rig, feeds, sentTo, terms };
}

/** A request whose prompt has blocks of these names, of 64 tokens each. */
export function asking(
  id: string,
  blocks: readonly number[] = [1, 2, 3, 4],
  changes: Partial<RouteDecode> = {},
): RouteDecode {
  const hashes = promptOf(...blocks);
  return routeDecode(id, {
    promptTokens: 64 * blocks.length,
    blockHashes: hashes,
    sequenceHashes: hashes,
    ...changes,
  });
}
