"""Times cuFFT and cuSPARSE through CuPy on the sizes of a report of `cp2 bench gpu`, on the same card.

    cp2 bench gpu --json > gpu.json
    python3 vendor.py gpu.json > vendor.json

Times are those of events on the card: medians of bursts of calls. Results are compared with NumPy in samples.
"""

import json
import sys

import cupy
import cupyx.cusparse
import cupyx.scipy.fft
import cupyx.scipy.sparse
import numpy

BURST = 10
BURSTS = 9

COPY = cupy.RawKernel(
    """
extern "C" __global__ void copy(const float4* from, float4* to, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = from[i];
}
""",
    "copy",
)


def measure(call):
    """Returns the median of the seconds of a call."""
    for _ in range(3):
        call()
    found = []
    for _ in range(BURSTS):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        for _ in range(BURST):
            call()
        end.record()
        end.synchronize()
        found.append(cupy.cuda.get_elapsed_time(begin, end) * 1e-3 / BURST)
    return sorted(found)[len(found) // 2]


def draw(shape):
    """Returns complex numbers drawn at random."""
    real = cupy.random.random(shape, dtype=cupy.float32) - 0.5
    return real + 1j * (cupy.random.random(shape, dtype=cupy.float32) - cupy.float32(0.5))


def is_near(found, expected):
    """True if the relative difference of two arrays is that of single precision."""
    difference = numpy.linalg.norm(found - expected) / numpy.linalg.norm(expected)
    return bool(difference < 1e-5)


def copy(row):
    count = row["size"][0] // 4
    source = cupy.random.random(4 * count, dtype=cupy.float32)
    target = cupy.full_like(source, numpy.nan)
    blocks = (count + 255) // 256
    seconds = measure(lambda: COPY((blocks,), (256,), (source, target, numpy.uint32(count))))
    return seconds, bool((source == target).all())


def transform(row):
    source = draw(tuple(row["size"]))
    target = cupy.full_like(source, numpy.nan)
    axes = (0, 1, 2) if row["name"] == "fft-3d" else (1,)
    plan = cupyx.scipy.fft.get_fft_plan(source, axes=axes)
    seconds = measure(lambda: plan.fft(source, target, cupy.cuda.cufft.CUFFT_FORWARD))
    if row["name"] == "fft-3d":
        # One number of the spectrum, and its energy.
        total = complex(source.sum(dtype=cupy.complex128))
        power = float((cupy.abs(target) ** 2).sum(dtype=cupy.float64))
        own = float((cupy.abs(source) ** 2).sum(dtype=cupy.float64)) * source.size
        passed = abs(complex(target[0, 0, 0]) - total) < 1e-4 * own**0.5 and abs(power - own) < 1e-4 * own
    else:
        expected = numpy.fft.fft(cupy.asnumpy(source[-1]).astype(numpy.complex128))
        passed = is_near(cupy.asnumpy(target[-1]), expected)
    return seconds, passed


def product(row):
    sides = [numpy.arange(n) for n in row["size"]]
    z, y, x = (side.ravel() for side in numpy.meshgrid(*sides, indexing="ij"))
    nz, ny, nx = row["size"]
    own = numpy.arange(nz * ny * nx, dtype=numpy.int64)
    columns = []
    for dz in (-1, 0, 1):
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                inside = (z + dz >= 0) & (z + dz < nz) & (y + dy >= 0) & (y + dy < ny) & (x + dx >= 0) & (x + dx < nx)
                columns.append(numpy.where(inside, own + (dz * ny + dy) * nx + dx, -1))
    columns = numpy.stack(columns, axis=1)
    present = columns >= 0
    starts = numpy.concatenate([[0], numpy.cumsum(present.sum(axis=1))]).astype(numpy.int32)
    places = columns[present].astype(numpy.int32)
    values = cupy.random.random(len(places), dtype=cupy.float32) - 0.5
    matrix = cupyx.scipy.sparse.csr_matrix((values, cupy.asarray(places), cupy.asarray(starts)), shape=(len(own),) * 2)
    vector = cupy.random.random(len(own), dtype=cupy.float32) - 0.5
    result = cupy.full_like(vector, numpy.nan)
    seconds = measure(lambda: cupyx.cusparse.spmv(matrix, vector, result, 1.0, 0.0))
    begin, end = int(starts[-2]), int(starts[-1])
    expected = (values[begin:end].astype(cupy.float64) * vector[cupy.asarray(places[begin:end])]).sum()
    return seconds, bool(abs(float(result[-1]) - float(expected)) < 1e-4)


def main():
    with open(sys.argv[1]) as file:
        report = json.load(file)
    rows = []
    for row in report["rows"]:
        kind = row["name"].split("-")[0]
        known = {"copy": ("CUDA", copy), "fft": ("cuFFT", transform), "spmv": ("cuSPARSE", product)}
        if kind not in known:
            continue
        library, call = known[kind]
        seconds, passed = call(row)
        rows.append({"name": row["name"], "size": row["size"], "library": library, "seconds": seconds, "passed": passed})
        cupy.get_default_memory_pool().free_all_blocks()
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    result = {
        "schema": "cp2-bench-vendor/1",
        "card": properties["name"].decode(),
        "cuda": cupy.cuda.runtime.runtimeGetVersion(),
        "cupy": cupy.__version__,
        "command": "python3 " + " ".join(sys.argv),
        "rows": rows,
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
