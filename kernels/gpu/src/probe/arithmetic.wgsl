// One operation of each kind on three numbers, in expressions that compilers treat differently.

@group(0) @binding(0) var<storage, read> numbers: array<f32>;
@group(0) @binding(1) var<storage, read_write> results: array<f32>;

override COUNT: u32 = 1u;

// Results of each triple of numbers.
const EACH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let i = id.x;
    if i >= COUNT {
        return;
    }
    let a = numbers[3u * i];
    let b = numbers[3u * i + 1u];
    let c = numbers[3u * i + 2u];
    let at = EACH * i;
    results[at] = fma(a, b, c);
    // Alone, as a sum in a loop, and where the product is used twice.
    results[at + 1u] = a * b + c;
    var sum = c;
    for (var k = 0u; k < 1u; k++) {
        sum += numbers[3u * i + k] * numbers[3u * i + k + 1u];
    }
    results[at + 2u] = sum;
    let product = a * b;
    results[at + 3u] = product + c;
    results[at + 4u] = product;
    results[at + 5u] = a + b;
    results[at + 6u] = a / b;
    results[at + 7u] = sqrt(abs(a));
}
