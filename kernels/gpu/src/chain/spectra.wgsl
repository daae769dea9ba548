// Windowed spectra with their decibels: where rows come from and go to. An entry point is generated.

@group(0) @binding(0) var<storage, read> roots: array<vec2f>;
@group(0) @binding(1) var<storage, read> rows: array<vec2f>;
@group(0) @binding(2) var<storage, read> window: array<f32>;
@group(0) @binding(3) var<storage, read_write> spectra: array<vec2f>;
@group(0) @binding(4) var<storage, read_write> levels: array<f32>;

override POINTS: u32 = 1u;

fn load(transform: u32, i: u32) -> vec2f {
    return window[i] * rows[transform * POINTS + i];
}

fn store(transform: u32, i: u32, z: vec2f) {
    let at = transform * POINTS + i;
    spectra[at] = z;
    levels[at] = decibels(z.x * z.x + z.y * z.y);
}
