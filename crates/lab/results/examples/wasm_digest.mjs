// Prints the digest of the first case of each experiment named, or of all shipped ones, computed by
// WebAssembly: `node wasm_digest.mjs wasm_digest.wasm [NAME...]`. The lines are those of
// `ackclock digest --first NAME...`.
import { readFileSync } from "node:fs";

const [file, ...wanted] = process.argv.slice(2);
const { instance } = await WebAssembly.instantiate(readFileSync(file), {});
const { memory, name, digest } = instance.exports;

function text(place) {
  const [address, length] = [Number(place >> 32n), Number(place & 0xffffffffn)];
  return new TextDecoder().decode(new Uint8Array(memory.buffer, address, length));
}

const all = [];
for (let i = 0; ; i++) {
  const next = text(BigInt.asUintN(64, name(i)));
  if (next === "") break;
  all.push(next);
}
const missing = wanted.filter((one) => !all.includes(one));
if (missing.length > 0) {
  console.error(`no shipped experiment: ${missing.join(", ")}`);
  process.exit(2);
}
for (const one of wanted.length > 0 ? wanted : all) {
  console.log(text(BigInt.asUintN(64, digest(all.indexOf(one), 0))));
}
