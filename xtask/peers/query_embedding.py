"""Embeds one query with onnxruntime, to compare with `query` of crates/embed/benches/embed.rs.

    pip install onnxruntime tokenizers numpy
    python xtask/peers/query_embedding.py crates/embed/model/minilm-l6-v2-int8.onnx crates/embed/model/tokenizer.json
"""

import sys
import time

import numpy
import onnxruntime
from tokenizers import Tokenizer

QUERY = "how do I rotate the keys that sign our access tokens"
ROUNDS = 300


def median_and_least(model: str, tokenizer: Tokenizer, threads: int) -> tuple[float, float]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options)

    def embed() -> numpy.ndarray:
        ids = numpy.array([tokenizer.encode(QUERY).ids], numpy.int64)
        inputs = {"input_ids": ids, "attention_mask": numpy.ones_like(ids)}
        mean = session.run(["last_hidden_state"], inputs)[0][0].mean(axis=0)
        return mean / numpy.linalg.norm(mean)

    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        embed()
        times.append((time.perf_counter() - started) * 1000)
    return sorted(times)[ROUNDS // 2], min(times)


def main() -> None:
    model, tokenizer_file = sys.argv[1:]
    tokenizer = Tokenizer.from_file(tokenizer_file)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for threads in (1, 2):
        median, least = median_and_least(model, tokenizer, threads)
        print(f"onnxruntime, threads: {threads}, median: {median:.2f} ms, fastest: {least:.2f} ms")


if __name__ == "__main__":
    main()
