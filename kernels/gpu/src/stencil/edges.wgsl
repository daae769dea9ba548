// The elements of stencils, and what counts for elements beyond an edge.

@group(0) @binding(0) var<storage, read> u: array<f32>;
@group(0) @binding(1) var<storage, read_write> v: array<f32>;
override PLANES: u32 = 1u;
override ROWS: u32 = 1u;
override COLUMNS: u32 = 1u;
// Planes of a thread.
override MARCH: u32 = 1u;
// Elements beyond an edge: 0 zeros, 1 none as the outermost elements are kept, 2 mirrored, 3 periodic.
override EDGE: u32 = 0u;
// 1 for arrays of two axes.
override FLAT: u32 = 0u;

// Elements of a row and rows that a workgroup computes in each plane.
const WIDTH = 64u;
const HEIGHT = 4u;

override TILES_X: u32 = (COLUMNS + WIDTH - 1u) / WIDTH;
override TILES_Y: u32 = (ROWS + HEIGHT - 1u) / HEIGHT;

// The index of a neighbour along an axis; -1 for a zero.
fn near(at: u32, offset: i32, count: u32) -> i32 {
    let there = i32(at) + offset;
    if EDGE == 3u {
        return select(select(there, there - i32(count), there >= i32(count)), i32(count) - 1, there < 0);
    }
    if EDGE == 2u {
        return clamp(there, 0, i32(count) - 1);
    }
    return select(there, -1, there >= i32(count));
}

fn value(plane: i32, row: i32, column: i32) -> f32 {
    if EDGE <= 1u && min(min(plane, row), column) < 0 {
        return 0.0;
    }
    return u[(u32(plane) * ROWS + u32(row)) * COLUMNS + u32(column)];
}

fn outermost(at: u32, count: u32) -> bool {
    return at == 0u || at + 1u == count;
}
