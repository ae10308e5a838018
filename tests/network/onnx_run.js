// Runs an ONNX file: node onnx_run.js MODULES REQUEST.json, a list of {model, images, shape, out}. Images and results are
// raw float32; results are out.OUTPUT for every output of the graph.
const fs = require("fs");
const path = require("path");
const [modules, request] = process.argv.slice(2);
const ort = require(path.join(modules, "onnxruntime-node"));

async function main() {
  for (const {model, images, shape, out} of JSON.parse(fs.readFileSync(request))) {
    const session = await ort.InferenceSession.create(model, {intraOpNumThreads: 1, interOpNumThreads: 1});
    const bytes = fs.readFileSync(images);
    const values = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    const results = await session.run({x: new ort.Tensor("float32", values, shape)});
    for (const name of session.outputNames) {
      const data = results[name].data;
      fs.writeFileSync(`${out}.${name}`, Buffer.from(data.buffer, data.byteOffset, data.byteLength));
      fs.writeFileSync(`${out}.${name}.shape`, JSON.stringify(results[name].dims));
    }
  }
}

main().catch(error => { console.error(error); process.exit(1); });
