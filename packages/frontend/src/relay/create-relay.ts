import type { ClusterView } from "@baton/cluster-view";
import { GetFrames, MissingFrames, ServingError, TokenFrame, type WorkerId } from "@baton/protocol";
import type { ActorContext } from "@baton/runtime";
import type { FrontendMetrics } from "../metrics.ts";
import type { PrepareRequest } from "../prepare/prepare-request.ts";
import { TransitionLog, type TransitionLogOptions } from "../request/transition-log.ts";
import { Cleanup } from "./cleanup.ts";
import { FrameIntake } from "./frame-intake.ts";
import { deliverFrame, isExpectedFrame } from "./handlers.ts";
import { onFramesLost } from "./losses.ts";
import type { ModelDirectory } from "./model-directory.ts";
import { OutputPump } from "./output-pump.ts";
import { noteOutput, Relay } from "./relay.ts";
import type { RelayOptions, RelayState } from "./relay-state.ts";
import type { RequestTable } from "./request-table.ts";
import type { RouterPicture } from "./router-picture.ts";

/** What a relay is made of beside its context. */
export interface RelayParts {
  readonly view: ClusterView;
  readonly directory: ModelDirectory;
  readonly table: RequestTable;
  readonly metrics: FrontendMetrics;
  readonly prepare: PrepareRequest;
  readonly routers: RouterPicture;
}

/** Puts a relay together. */
export function createRelay(
  context: ActorContext,
  options: RelayOptions & TransitionLogOptions,
  parts: RelayParts,
): Relay {
  const { bus, clock, log, subjects } = context;
  const { metrics, view, directory, table, prepare, routers } = parts;
  const state: RelayState = {
    options,
    bus,
    clock,
    log,
    subjects,
    view,
    directory,
    metrics,
    table,
    prepare,
    routers,
    busBackAtMs: Number.NEGATIVE_INFINITY,
    pump: new OutputPump(clock, noteOutput),
    cleanup: new Cleanup({ bus, subjects, log, dropped: metrics.cleanupsDropped }),
    transitions: new TransitionLog(options, {
      bus,
      clock,
      log,
      dropped: metrics.transitionsDropped,
      subject: (model) => subjects.requestTransitions(model),
    }),
    frames: new FrameIntake(options.maxHeldFrames, {
      fetch: (workerId, from, to) =>
        fetchFrames(context, view, options.framesTimeoutMs, workerId, from, to),
      isExpected: (frame) => isExpectedFrame(state, frame),
      deliver: (frame) => deliverFrame(state, frame),
      onFramesLost: (workerId, generation) => onFramesLost(state, workerId, generation),
      dropped: metrics.framesDropped,
    }),
  };
  return new Relay(state);
}

async function fetchFrames(
  { bus, id, generation, subjects }: ActorContext,
  view: ClusterView,
  timeoutMs: number,
  workerId: WorkerId,
  from: number,
  to: number,
): Promise<readonly TokenFrame[]> {
  const model = modelOf(view, workerId);
  const ask = GetFrames.encode({ frontendId: id, frontendGeneration: generation, from, to });
  const answer = await bus.request(subjects.worker("get-frames", model, workerId), ask, {
    timeoutMs,
  });
  return MissingFrames.decode(answer).frames.map((bytes) => TokenFrame.decode(bytes));
}

function modelOf(view: ClusterView, workerId: WorkerId) {
  const owner = view.models().find(({ workers }) => workers.some(({ id }) => id === workerId));
  if (owner !== undefined) return owner.model;
  throw new ServingError("worker_lost", { workerId });
}
