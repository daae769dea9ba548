"""Times cuFFT and cuSPARSE through CuPy on the sizes of a report of `cp2 bench gpu`, on the same card.

    cp2 bench gpu --matrix A.mtx --json > gpu.json
    python3 vendor.py gpu.json > vendor.json

Files of matrices are read from where the report names them, so it runs in the same folder. Times are those of events on the card: medians of bursts of calls. Results are compared with NumPy in samples.
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
    return multiply(values, places, starts, (len(own),) * 2)


def multiply(values, places, starts, shape):
    """Times the product with a matrix of compressed rows, and compares some rows with NumPy."""
    matrix = cupyx.scipy.sparse.csr_matrix((values, cupy.asarray(places), cupy.asarray(starts)), shape=shape)
    vector = draw(shape[1])
    if values.dtype == cupy.float32:
        vector = vector.real.copy()
    result = cupy.full(shape[0], numpy.nan, dtype=values.dtype)
    seconds = measure(lambda: cupyx.cusparse.spmv(matrix, vector, result, 1.0, 0.0))
    # Rows from the begin, the middle and the end.
    rows = sorted({row for part in (0, shape[0] // 2, shape[0] - 64) for row in range(max(part, 0), min(part + 64, shape[0]))})
    wide = numpy.complex128 if values.dtype == cupy.complex64 else numpy.float64
    passed = bool(cupy.isfinite(result).all())
    for row in rows:
        begin, end = int(starts[row]), int(starts[row + 1])
        terms = cupy.asnumpy(values[begin:end]).astype(wide) * cupy.asnumpy(vector[cupy.asarray(places[begin:end])])
        passed = passed and abs(complex(result[row]) - terms.sum()) <= 1e-5 * abs(terms).sum()
    return seconds, bool(passed)


def read_market(path):
    """Reads a Matrix Market file: rows, columns, shape and values in double precision, those of a symmetry too."""
    with open(path) as file:
        head = file.readline().lower().split()
        if head[:3] != ["%%matrixmarket", "matrix", "coordinate"]:
            sys.exit(f"{path}: expected a header `%%MatrixMarket matrix coordinate ...`")
        field, symmetry = head[3:5]
        lines = (line.split() for line in file if line.strip() and not line.startswith("%"))
        height, width, _ = map(int, next(lines))
        numbers = numpy.array(list(lines), dtype=numpy.float64)
    numbers = numbers.reshape(len(numbers), -1)
    rows, columns = (numbers[:, k].astype(numpy.int64) - 1 for k in (0, 1))
    if field == "pattern":
        values = numpy.ones(len(rows))
    else:
        values = numbers[:, 2] + 1j * numbers[:, 3] if field == "complex" else numbers[:, 2]
    if symmetry != "general":
        mirrored = rows != columns
        image = {"symmetric": lambda z: z, "skew-symmetric": lambda z: -z, "hermitian": numpy.conj}[symmetry](values)
        values = numpy.concatenate([values, image[mirrored]])
        rows, columns = (numpy.concatenate(pair) for pair in ((rows, columns[mirrored]), (columns, rows[mirrored])))
    # Entries of one place are added up.
    places, which = numpy.unique(rows * width + columns, return_inverse=True)
    sums = numpy.zeros(len(places), dtype=values.dtype)
    numpy.add.at(sums, which.ravel(), values)
    return places // width, places % width, (height, width), sums


def tiles(row):
    """Times the product with a matrix that is repeated along the diagonal as often as the report says."""
    rows, columns, (height, width), values = read_market(row["matrix"]["file"])
    copies = row["matrix"]["copies"]
    if [copies * height, copies * width] != row["size"] or copies * len(values) != row["matrix"]["entries"]:
        sys.exit(f"{row['matrix']['file']}: it is not the matrix of the report: {row['matrix']}, size {row['size']}")
    single = values.astype(numpy.complex64 if numpy.iscomplexobj(values) else numpy.float32)
    lengths = numpy.tile(numpy.bincount(rows, minlength=height), copies)
    starts = numpy.concatenate([[0], numpy.cumsum(lengths)]).astype(numpy.int32)
    shift = numpy.arange(copies, dtype=numpy.int32)[:, None] * numpy.int32(width)
    places = (columns.astype(numpy.int32)[None, :] + shift).ravel()
    return multiply(cupy.tile(cupy.asarray(single), copies), places, starts, (copies * height, copies * width))


def main():
    with open(sys.argv[1]) as file:
        report = json.load(file)
    rows = []
    for row in report["rows"]:
        kind = row["name"].split("-")[0]
        known = {
            "copy": ("CUDA", copy),
            "fft": ("cuFFT", transform),
            "spmv": ("cuSPARSE", product),
            "matrix": ("cuSPARSE", tiles),
        }
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
