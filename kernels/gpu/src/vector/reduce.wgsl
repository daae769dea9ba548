// Reductions of rows: a workgroup for each part of a row, and another step over the parts.

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
@group(0) @binding(2) var<storage, read> parts: array<vec2f>;
@group(0) @binding(3) var<storage, read> part_places: array<u32>;
@group(0) @binding(4) var<storage, read_write> results: array<vec2f>;
@group(0) @binding(5) var<storage, read_write> places: array<u32>;

// 0 sum, 1 inner product, 2 inner product of complex numbers, 3 norm, 4 maximum.
override OPERATION: u32 = 0u;
// True where the results of parts are reduced.
override LAST: bool = false;
// Terms of a row, terms of a part, and parts of a row.
override TERMS: u32 = 1u;
override EACH: u32 = 1u;
override PARTS: u32 = 1u;
override ROWS: u32 = 1u;
// True where the root of the last sum is taken.
override ROOT: bool = false;

const THREADS = 256u;

var<workgroup> sums: array<vec2f, THREADS>;
var<workgroup> first_places: array<u32, THREADS>;

fn term(i: u32) -> vec2f {
    if LAST {
        return parts[i];
    }
    switch OPERATION {
        case 1u: { return vec2f(x[i] * y[i], 0.0); }
        case 2u: {
            let a = vec2f(x[2u * i], x[2u * i + 1u]);
            let b = vec2f(y[2u * i], y[2u * i + 1u]);
            return vec2f(a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y);
        }
        case 3u: { return vec2f(x[i] * x[i], 0.0); }
        default: { return vec2f(x[i], 0.0); }
    }
}

fn term_before(i: u32, end: u32) -> vec2f {
    if i < end {
        return term(i);
    }
    return vec2f();
}

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let number = group.x + group.y * groups.x;
    if number >= ROWS * PARTS {
        return;
    }
    let row = number / PARTS * TERMS;
    let first = number % PARTS * EACH;
    let end = min(first + EACH, TERMS);
    var sum = vec2f();
    var place = first;
    if OPERATION == 4u {
        sum = term(row + first);
        if LAST {
            place = part_places[row + first];
        }
    }
    if OPERATION == 4u {
        for (var i = first + thread; i < end; i += THREADS) {
            let value = term(row + i);
            if value.x > sum.x {
                sum = value;
                place = i;
                if LAST {
                    place = part_places[row + i];
                }
            }
        }
    } else {
        // Four terms at a time: they do not wait for each other, and errors grow less.
        for (var i = first + thread; i < end; i += 4u * THREADS) {
            sum += (term_before(row + i, row + end) + term_before(row + i + THREADS, row + end))
                + (term_before(row + i + 2u * THREADS, row + end)
                + term_before(row + i + 3u * THREADS, row + end));
        }
    }
    sums[thread] = sum;
    first_places[thread] = place;
    for (var apart = THREADS / 2u; apart > 0u; apart /= 2u) {
        workgroupBarrier();
        if thread < apart {
            let other = sums[thread + apart];
            let there = first_places[thread + apart];
            if OPERATION != 4u {
                sums[thread] += other;
            } else if other.x > sums[thread].x
                || (other.x == sums[thread].x && there < first_places[thread]) {
                sums[thread] = other;
                first_places[thread] = there;
            }
        }
    }
    if thread == 0u {
        var result = sums[0];
        if ROOT {
            result = sqrt(result);
        }
        results[number] = result;
        places[number] = first_places[0];
    }
}
