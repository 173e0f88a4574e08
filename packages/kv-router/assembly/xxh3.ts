// biome-ignore-all lint/correctness/noPrecisionLoss: u64 constants keep all their digits in AssemblyScript.
// XXH3, 64 bits, with a seed. AssemblyScript: see scripts/compile-block-hasher.ts.
// Every length class of the algorithm is here, because a block of 1 to 512 tokens meets them all.

const prime32x1: u64 = 0x9e3779b1;
const prime32x2: u64 = 0x85ebca77;
const prime32x3: u64 = 0xc2b2ae3d;
const prime64x1: u64 = 0x9e3779b185ebca87;
const prime64x2: u64 = 0xc2b2ae3d27d4eb4f;
const prime64x3: u64 = 0x165667b19e3779f9;
const prime64x4: u64 = 0x85ebca77c2b2ae63;
const prime64x5: u64 = 0x27d4eb2f165667c5;
const primeMx1: u64 = 0x165667919e3779f9;
const primeMx2: u64 = 0x9fb21c651e98df25;

const secretBytes: usize = 192;
const stripeBytes: usize = 64;
const stripesPerRound: usize = 16;

/** The 192-byte secret of the XXH3 specification, as 24 little-endian words. */
// biome-ignore format: a table
const secret: usize = memory.data<u64>([
  0xbe4ba423396cfeb8, 0x1cad21f72c81017c, 0xdb979083e96dd4de, 0x1f67b3b7a4a44072,
  0x78e5c0cc4ee679cb, 0x2172ffcc7dd05a82, 0x8e2443f7744608b8, 0x4c263a81e69035e0,
  0xcb00c391bb52283c, 0xa32e531b8b65d088, 0x4ef90da297486471, 0xd8acdea946ef1938,
  0x3f349ce33f76faa8, 0x1d4f0bc7c7bbdcf9, 0x3159b4cd4be0518a, 0x647378d9c97e9fc8,
  0xc3ebd33483acc5ea, 0xeb6313faffa081c5, 0x49daf0b751dd0d17, 0x9e68d429265516d3,
  0xfca1477d58be162b, 0xce31d07ad1b8f88f, 0x280416958f3acb45, 0x7e404bbbcafbd7af,
], 16);

/** The secret that the long class derives from `derivedFor`, kept between calls. */
const derived: usize = memory.data(192, 16);
let derivedFor: u64 = 0;
let isDerived: bool = false;

/** Hashes `length` bytes at `input`. Reads nothing outside them. */
export function xxh3(input: usize, length: usize, seed: u64): u64 {
  if (length <= 16) return hashUpTo16(input, length, seed);
  if (length <= 128) return hashUpTo128(input, length, seed);
  if (length <= 240) return hashUpTo240(input, length, seed);
  return hashLong(input, length, seed);
}

function hashUpTo16(input: usize, length: usize, seed: u64): u64 {
  if (length > 8) return hash9To16(input, length, seed);
  if (length >= 4) return hash4To8(input, length, seed);
  if (length > 0) return hash1To3(input, length, seed);
  return avalanche64(seed ^ load<u64>(secret, 56) ^ load<u64>(secret, 64));
}

function hash1To3(input: usize, length: usize, seed: u64): u64 {
  const first: u32 = load<u8>(input);
  const middle: u32 = load<u8>(input + (length >> 1));
  const last: u32 = load<u8>(input + length - 1);
  const combined: u32 = (first << 16) | (middle << 24) | last | ((length as u32) << 8);
  const flip = (load<u32>(secret) ^ load<u32>(secret, 4)) as u64;
  return avalanche64((combined as u64) ^ (flip + seed));
}

function hash4To8(input: usize, length: usize, seed: u64): u64 {
  const mixedSeed = seed ^ ((bswap<u32>(seed as u32) as u64) << 32);
  const low = load<u32>(input + length - 4) as u64;
  const high = load<u32>(input) as u64;
  const flip = (load<u64>(secret, 8) ^ load<u64>(secret, 16)) - mixedSeed;
  let hash = (low + (high << 32)) ^ flip;
  hash ^= rotl<u64>(hash, 49) ^ rotl<u64>(hash, 24);
  hash *= primeMx2;
  hash ^= (hash >> 35) + (length as u64);
  hash *= primeMx2;
  return hash ^ (hash >> 28);
}

function hash9To16(input: usize, length: usize, seed: u64): u64 {
  return hashPair(load<u64>(input), load<u64>(input + length - 8), length as u64, seed);
}

/** The class of 9 to 16 bytes, given its first and its last eight. A sequence hash is one of these. */
export function hashPair(first: u64, last: u64, length: u64, seed: u64): u64 {
  const low = first ^ ((load<u64>(secret, 24) ^ load<u64>(secret, 32)) + seed);
  const high = last ^ ((load<u64>(secret, 40) ^ load<u64>(secret, 48)) - seed);
  return avalanche(length + bswap<u64>(low) + high + foldedProduct(low, high));
}

function hashUpTo128(input: usize, length: usize, seed: u64): u64 {
  const end = input + length;
  let sum = (length as u64) * prime64x1;
  if (length > 96) {
    sum += mix16(input + 48, secret + 96, seed) + mix16(end - 64, secret + 112, seed);
  }
  if (length > 64) {
    sum += mix16(input + 32, secret + 64, seed) + mix16(end - 48, secret + 80, seed);
  }
  if (length > 32) {
    sum += mix16(input + 16, secret + 32, seed) + mix16(end - 32, secret + 48, seed);
  }
  sum += mix16(input, secret, seed) + mix16(end - 16, secret + 16, seed);
  return avalanche(sum);
}

function hashUpTo240(input: usize, length: usize, seed: u64): u64 {
  let sum = (length as u64) * prime64x1;
  for (let at: usize = 0; at < 128; at += 16) {
    sum += mix16(input + at, secret + at, seed);
  }
  sum = avalanche(sum);
  for (let at: usize = 128; at + 16 <= length; at += 16) {
    sum += mix16(input + at, secret + (at - 125), seed);
  }
  return avalanche(sum + mix16(input + length - 16, secret + 119, seed));
}

function hashLong(input: usize, length: usize, seed: u64): u64 {
  deriveSecret(seed);
  let a = i64x2(prime32x3, prime64x1);
  let b = i64x2(prime64x2, prime64x3);
  let c = i64x2(prime64x4, prime32x2);
  let d = i64x2(prime64x5, prime32x1);

  // The last stripe, whole or not, is not one of the loop's: it has its own key below.
  const stripes = (length - 1) / stripeBytes;
  let stripe: usize = 0;
  let key = derived;
  for (let at = input; stripe < stripes; at += stripeBytes) {
    a = accumulate(a, at, key);
    b = accumulate(b, at + 16, key + 16);
    c = accumulate(c, at + 32, key + 32);
    d = accumulate(d, at + 48, key + 48);
    key += 8;
    stripe += 1;
    if (stripe % stripesPerRound === 0) {
      const last = derived + (secretBytes - stripeBytes);
      a = scramble(a, last);
      b = scramble(b, last + 16);
      c = scramble(c, last + 32);
      d = scramble(d, last + 48);
      key = derived;
    }
  }

  const tail = input + length - stripeBytes;
  const tailKey = derived + (secretBytes - stripeBytes - 7);
  a = accumulate(a, tail, tailKey);
  b = accumulate(b, tail + 16, tailKey + 16);
  c = accumulate(c, tail + 32, tailKey + 32);
  d = accumulate(d, tail + 48, tailKey + 48);

  const merge = derived + 11;
  let sum = (length as u64) * prime64x1;
  sum += mergePair(a, merge) + mergePair(b, merge + 16);
  sum += mergePair(c, merge + 32) + mergePair(d, merge + 48);
  return avalanche(sum);
}

function deriveSecret(seed: u64): void {
  if (isDerived && derivedFor === seed) return;
  for (let at: usize = 0; at < secretBytes; at += 16) {
    store<u64>(derived + at, load<u64>(secret + at) + seed);
    store<u64>(derived + at + 8, load<u64>(secret + at + 8) - seed);
  }
  derivedFor = seed;
  isDerived = true;
}

function accumulate(sums: v128, input: usize, key: usize): v128 {
  const data = v128.load(input);
  const keyed = v128.xor(data, v128.load(key));
  const low = i32x4.shuffle(keyed, keyed, 0, 2, 0, 2);
  const high = i32x4.shuffle(keyed, keyed, 1, 3, 1, 3);
  const swapped = i64x2.shuffle(data, data, 1, 0);
  return i64x2.add(i64x2.add(sums, swapped), i64x2.extmul_low_i32x4_u(low, high));
}

function scramble(sums: v128, key: usize): v128 {
  const shifted = v128.xor(sums, i64x2.shr_u(sums, 47));
  return i64x2.mul(v128.xor(shifted, v128.load(key)), i64x2.splat(prime32x1));
}

function mergePair(sums: v128, key: usize): u64 {
  const first = (i64x2.extract_lane(sums, 0) as u64) ^ load<u64>(key);
  const second = (i64x2.extract_lane(sums, 1) as u64) ^ load<u64>(key, 8);
  return foldedProduct(first, second);
}

function mix16(input: usize, key: usize, seed: u64): u64 {
  const low = load<u64>(input) ^ (load<u64>(key) + seed);
  const high = load<u64>(input, 8) ^ (load<u64>(key, 8) - seed);
  return foldedProduct(low, high);
}

/** The two halves of the 128-bit product, xored. */
function foldedProduct(left: u64, right: u64): u64 {
  const leftLow = left & 0xffffffff;
  const leftHigh = left >> 32;
  const rightLow = right & 0xffffffff;
  const rightHigh = right >> 32;
  const low = leftLow * rightLow;
  const cross = leftHigh * rightLow + (low >> 32);
  const middle = leftLow * rightHigh + (cross & 0xffffffff);
  const high = leftHigh * rightHigh + (cross >> 32) + (middle >> 32);
  return (left * right) ^ high;
}

function avalanche(value: u64): u64 {
  const mixed = (value ^ (value >> 37)) * primeMx1;
  return mixed ^ (mixed >> 32);
}

function avalanche64(value: u64): u64 {
  const first = (value ^ (value >> 33)) * prime64x2;
  const second = (first ^ (first >> 29)) * prime64x3;
  return second ^ (second >> 32);
}
