import { createFlatIndex } from "../../src/index.ts";
import { findsWhatTheRanksHold, keepsToItsLimit } from "./prefix-index-histories.ts";

findsWhatTheRanksHold(() => createFlatIndex());

keepsToItsLimit((maxBlocks) => createFlatIndex({ maxBlocks }));
