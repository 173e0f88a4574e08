/** All workers of a replay are of the first generation. */
export const replayGeneration = 1;
