// Real numbers of rows of odd length, from and to complex ones: a thread for each number of the output.

@group(0) @binding(0) var<storage, read> source: array<f32>;
@group(0) @binding(1) var<storage, read_write> target_: array<f32>;

override N: u32 = 1u;
override ROWS: u32 = 1u;
// 0: real numbers to complex ones. 1: spectra to half spectra. 2: half spectra to spectra. 3: real parts.
override STAGE: u32 = 0u;

override HALF: u32 = N / 2u + 1u;
override WIDTH: u32 = select(N, HALF, STAGE == 1u);

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let at = (group.x + group.y * groups.x) * 256u + thread;
    if at >= ROWS * WIDTH {
        return;
    }
    let row = at / WIDTH;
    let k = at % WIDTH;
    if STAGE == 0u {
        target_[2u * at] = source[at];
        target_[2u * at + 1u] = 0.0;
    } else if STAGE == 1u {
        target_[2u * at] = source[2u * (row * N + k)];
        target_[2u * at + 1u] = source[2u * (row * N + k) + 1u];
    } else if STAGE == 2u {
        let mirrored = k >= HALF;
        let place = 2u * (row * HALF + select(k, N - k, mirrored));
        let imaginary = select(source[place + 1u], 0.0, k == 0u);
        target_[2u * at] = source[place];
        target_[2u * at + 1u] = select(imaginary, -imaginary, mirrored);
    } else {
        target_[at] = source[2u * at];
    }
}
