import { createFlatIndex } from "../../src/index.ts";
import { prefixIndexContract } from "./prefix-index-contract.ts";

prefixIndexContract("flat index", () => createFlatIndex());
