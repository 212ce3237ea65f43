// Classifies pictures with an exported network: node classify.mjs FOLDER
//
// FOLDER is what export.py wrote: model.onnx, and model.json with the names of the input and of the pictures' tensors.
// Prints a line of JSON for each picture: {"picture", "top5": class indices, "names", "probabilities"}.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as ort from 'onnxruntime-web';

const folder = process.argv[2];
if (!folder) {
  console.error('usage: node classify.mjs FOLDER (made by export.py)');
  process.exit(2);
}
ort.env.wasm.numThreads = 1;
const about = JSON.parse(readFileSync(join(folder, 'model.json'), 'utf8'));
const session = await ort.InferenceSession.create(new Uint8Array(readFileSync(join(folder, 'model.onnx'))), {
  executionProviders: ['wasm'],
});

for (const picture of about.pictures) {
  const data = readFloats(join(folder, picture.tensor));
  const results = await session.run({ [about.input]: new ort.Tensor('float32', data, about.shape) });
  const probabilities = softmax(results[about.output].data);
  const top5 = Array.from(probabilities.keys())
    .sort((a, b) => probabilities[b] - probabilities[a])
    .slice(0, 5);
  console.log(
    JSON.stringify({
      picture: picture.name,
      top5,
      names: top5.map((k) => about.classes[k] ?? String(k)),
      probabilities: top5.map((k) => Number(probabilities[k].toFixed(4))),
    }),
  );
}

function readFloats(path) {
  const bytes = readFileSync(path);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

function softmax(scores) {
  const highest = Math.max(...scores);
  const powers = Array.from(scores, (s) => Math.exp(s - highest));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((p) => p / sum);
}
