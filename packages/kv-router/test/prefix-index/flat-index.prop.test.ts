import { createFlatIndex } from "../../src/index.ts";
import { findsWhatTheRanksHold } from "./prefix-index-histories.ts";

findsWhatTheRanksHold(() => createFlatIndex());
