/** What stands for a byte that is no token: nothing, or a symbol that merges with none and is left out of the ids. */
export const droppedByte = -1;
export const unknownByte = 0x7ffffff0;
