import { createHash } from "node:crypto";
import type { ClusterView, WorkerView } from "@baton/cluster-view";
import {
  Artifact,
  GetArtifact,
  modelName,
  ServingError,
  type Subjects,
  type WorkerId,
} from "@baton/protocol";
import type { Bus, Random } from "@baton/runtime";
import type { Logger } from "pino";

/** What a source is given. */
export interface ArtifactSourceDeps {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly view: Pick<ClusterView, "model">;
  readonly random: Random;
  readonly log: Logger;
}

/**
 * Fetches an artifact from the workers that say they have it, in random order, until one answers with bytes of that
 * digest. Rejects with `not_ready` if none does, or with `bus_unavailable`.
 */
export async function fetchArtifact(
  deps: ArtifactSourceDeps,
  model: string,
  checksum: string,
  timeoutMs: number,
): Promise<Uint8Array> {
  for (const worker of holdersOf(deps, model, checksum)) {
    try {
      return await askWorker(deps, model, worker.id, checksum, timeoutMs);
    } catch (error) {
      const reason = ServingError.from(error);
      if (reason.code === "bus_unavailable") throw reason;
      deps.log.warn({ err: reason, workerId: worker.id, checksum }, "artifact not had from worker");
    }
  }
  throw new ServingError("not_ready", {
    problem: `the tokenizer of ${model} cannot be had from any worker`,
    checksum,
  });
}

function holdersOf(
  { view, random }: ArtifactSourceDeps,
  model: string,
  checksum: string,
): readonly WorkerView[] {
  const workers = view.model(model)?.workers ?? [];
  const holders = workers.filter(
    ({ state, registration }) =>
      state !== "lost" && registration.card.tokenizerChecksum === checksum,
  );
  const start = Math.floor(random.number() * holders.length);
  return [...holders.slice(start), ...holders.slice(0, start)];
}

async function askWorker(
  { bus, subjects }: ArtifactSourceDeps,
  model: string,
  worker: WorkerId,
  checksum: string,
  timeoutMs: number,
): Promise<Uint8Array> {
  const subject = subjects.worker("get-artifact", modelName(model), worker);
  const answer = await bus.request(subject, GetArtifact.encode({ checksum }), { timeoutMs });
  const { bytes } = Artifact.decode(answer);
  if (bytes === null) {
    throw new ServingError("engine_protocol", { problem: "the worker has no such artifact" });
  }
  const digest = createHash("sha256").update(bytes).digest("hex");
  if (digest !== checksum) {
    throw new ServingError("engine_protocol", { problem: `the artifact's digest is ${digest}` });
  }
  return bytes;
}
