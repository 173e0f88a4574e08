export {
  type BlockHasher,
  type BlockHasherInstance,
  blockHasherWasm,
  createBlockHasher,
  createBlockHasherFromModule,
  hashBytes,
} from "./hashing/block-hasher.ts";
export { baseHashSeed, type HashScope, type HashSeed, hashSeedFrom } from "./hashing/hash-seed.ts";
