import { type ContainerRuntimeClient, getContainerRuntimeClient } from "testcontainers";

/** Docker's own interface, for what testcontainers does not do: pauses, signals and cuts. */
export type Docker = ContainerRuntimeClient["container"]["dockerode"];

/** Connects to the Docker engine. What a run leaves behind is its own to remove: no container of others is started for it. */
export async function connectDocker(): Promise<Docker> {
  process.env.TESTCONTAINERS_RYUK_DISABLED = "true";
  return (await getContainerRuntimeClient()).container.dockerode;
}
