// An operation on every element: a thread for each float of the output, or for each complex number.

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> z: array<f32>;
// The coefficients of a window.
@group(0) @binding(3) var<storage, read> coefficients: array<f32>;

// 0 scale, 1 axpy, 2 add, 3 subtract, 4 multiply, 5 complex multiply, 6 window, 7 power, 8 magnitude, 9 phase,
// 10 decibels.
override OPERATION: u32 = 0u;
override FACTOR: f32 = 1.0;
// Threads.
override COUNT: u32 = 1u;
// Coefficients of a window.
override ROW: u32 = 1u;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = (group.x + group.y * groups.x) * 256u + thread;
    if i >= COUNT {
        return;
    }
    switch OPERATION {
        case 0u: { z[i] = FACTOR * x[i]; }
        case 1u: { z[i] = FACTOR * x[i] + y[i]; }
        case 2u: { z[i] = x[i] + y[i]; }
        case 3u: { z[i] = x[i] - y[i]; }
        case 4u: { z[i] = x[i] * y[i]; }
        case 5u: {
            let a = vec2f(x[2u * i], x[2u * i + 1u]);
            let b = vec2f(y[2u * i], y[2u * i + 1u]);
            z[2u * i] = a.x * b.x - a.y * b.y;
            z[2u * i + 1u] = a.x * b.y + a.y * b.x;
        }
        case 6u: { z[i] = coefficients[i % ROW] * x[i]; }
        default: {
            let a = vec2f(x[2u * i], x[2u * i + 1u]);
            let power = a.x * a.x + a.y * a.y;
            switch OPERATION {
                case 7u: { z[i] = power; }
                case 8u: { z[i] = root(power); }
                case 9u: { z[i] = phase(a); }
                default: { z[i] = decibels(power); }
            }
        }
    }
}
