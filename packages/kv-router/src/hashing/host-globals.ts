// What the core takes from every JavaScript host: pure conversions, no I/O. Declared here because the core is
// compiled without the types of any one host.

interface HostGlobals {
  readonly atob: (base64: string) => string;
  readonly TextEncoder: new () => { encode(text: string): Uint8Array };
  readonly WebAssembly: {
    readonly Module: new (bytes: Uint8Array) => object;
    readonly Instance: new (module: object) => { readonly exports: object };
  };
}

const host = globalThis as unknown as HostGlobals;

/** The bytes of a base64 text. */
export function bytesFromBase64(base64: string): Uint8Array {
  return Uint8Array.from(host.atob(base64), (character) => character.charCodeAt(0));
}

/** The UTF-8 bytes of a text; a lone surrogate becomes U+FFFD. */
export function utf8Bytes(text: string): Uint8Array {
  return new host.TextEncoder().encode(text);
}

/** Compiles and instantiates a module without imports, synchronously. */
export function instantiateWasm(bytes: Uint8Array): { readonly exports: object } {
  return new host.WebAssembly.Instance(new host.WebAssembly.Module(bytes));
}
