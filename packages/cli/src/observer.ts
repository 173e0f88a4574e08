import { actorId, type NamespaceName, namespaceName, Subjects } from "@baton/protocol";
import {
  type Bus,
  connectNats,
  type NatsAccess,
  noMetrics,
  readNatsAccess,
  silentLogger,
} from "@baton/runtime";
import type { CommandIo } from "./command-io.ts";

/** A bus of somebody who is no actor, with the subjects of a namespace. */
export interface Observer {
  readonly bus: Bus;
  readonly subjects: Subjects;
}

/** Options of commands that look at a bus, or at an admin port instead. */
export type WhereToLook = Omit<NatsAccess, "nats"> & {
  readonly nats?: string | undefined;
  readonly namespace: string;
};

const connectTimeoutMs = 5_000;

/** Joins a NATS bus to look at a namespace. Rejects with `bus_unavailable` if no server answers in five seconds. */
export async function observeNats(
  options: NatsAccess & { readonly namespace: string },
  io: CommandIo,
): Promise<Observer> {
  const namespace: NamespaceName = namespaceName(options.namespace);
  const subjects = new Subjects(namespace);
  const giveUp = new AbortController();
  const timer = io.clock.setTimer(connectTimeoutMs, () => giveUp.abort());
  const nats = readNatsAccess(options);
  try {
    const bus = await connectNats(
      nats,
      {
        id: actorId(io.random.id("observer")),
        subjects,
        clock: io.clock,
        log: silentLogger(),
        metrics: noMetrics,
      },
      giveUp.signal,
    );
    return { bus, subjects };
  } finally {
    timer.cancel();
  }
}
