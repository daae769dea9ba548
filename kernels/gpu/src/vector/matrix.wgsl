// A product C = A B of complex matrices: tiles of 32 x 32 numbers, of which each thread computes 2 x 2.

@group(0) @binding(0) var<storage, read> a: array<vec2f>;
@group(0) @binding(1) var<storage, read> b: array<vec2f>;
@group(0) @binding(2) var<storage, read_write> c: array<vec2f>;

// Rows and columns of C, and the terms of each number.
override M: u32 = 1u;
override N: u32 = 1u;
override K: u32 = 1u;
// Distances between rows and between columns of B; those of A and C are contiguous in a row.
override B_ROW: u32 = 1u;
override B_COLUMN: u32 = 1u;

override TILES: u32 = (N + 31u) / 32u;

var<workgroup> rows: array<array<vec2f, 17>, 32>;
var<workgroup> columns: array<array<vec2f, 33>, 16>;

fn product(a: vec2f, b: vec2f) -> vec2f {
    return vec2f(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

fn of_a(row: u32, k: u32) -> vec2f {
    if row >= M || k >= K {
        return vec2f();
    }
    return a[row * K + k];
}

fn of_b(k: u32, column: u32) -> vec2f {
    if k >= K || column >= N {
        return vec2f();
    }
    return b[k * B_ROW + column * B_COLUMN];
}

fn put(row: u32, column: u32, sum: vec2f) {
    if row < M && column < N {
        c[row * N + column] = sum;
    }
}

@compute @workgroup_size(16, 16)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_id) thread: vec3u,
) {
    let number = group.x + group.y * groups.x;
    let row = number / TILES * 32u;
    let column = number % TILES * 32u;
    let i = thread.y;
    let j = thread.x;
    var sum00 = vec2f();
    var sum01 = vec2f();
    var sum10 = vec2f();
    var sum11 = vec2f();
    for (var first = 0u; first < K; first += 16u) {
        rows[i][j] = of_a(row + i, first + j);
        rows[i + 16u][j] = of_a(row + i + 16u, first + j);
        // Neighbouring threads load neighbouring numbers.
        if B_ROW == 1u {
            columns[j][i] = of_b(first + j, column + i);
            columns[j][i + 16u] = of_b(first + j, column + i + 16u);
        } else {
            columns[i][j] = of_b(first + i, column + j);
            columns[i][j + 16u] = of_b(first + i, column + j + 16u);
        }
        workgroupBarrier();
        for (var k = 0u; k < 16u; k++) {
            let a0 = rows[i][k];
            let a1 = rows[i + 16u][k];
            let b0 = columns[k][j];
            let b1 = columns[k][j + 16u];
            sum00 += product(a0, b0);
            sum01 += product(a0, b1);
            sum10 += product(a1, b0);
            sum11 += product(a1, b1);
        }
        workgroupBarrier();
    }
    put(row + i, column + j, sum00);
    put(row + i, column + j + 16u, sum01);
    put(row + i + 16u, column + j, sum10);
    put(row + i + 16u, column + j + 16u, sum11);
}
