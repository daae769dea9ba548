//! Sparse matrices: products with vectors, and iterative methods.
//!
//! Values of a matrix are input, like the numbers of a vector. Their positions are not: the author of the
//! program knows these, and may have them in the program. So the bytes that have to be moved are the values
//! that a symmetry leaves open, none for a matrix of ones, and the vectors once. A format that stores column
//! indices with the values moves more, which is the format's cost.

use crate::bound::Traffic;
use crate::count::{Count, NumberFormat};
use crate::figures::{Figures, Known, Plan};
use cp2_machine::Machine;

/// Numbers that the entries of a matrix are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SparseNumbers {
    /// Every entry is 1.
    Ones,
    /// Real numbers.
    Real,
    /// Real numbers in binary64, on machines with `double`.
    Double,
    /// Real numbers as sums of two binary32, on machines with `double-single`. A multiply-add counts as one on the
    /// upper parts, which is a lower bound of every sequence of operations that computes it.
    DoubleSingle,
    /// Complex numbers; vectors are complex too.
    Complex,
}

impl SparseNumbers {
    /// Returns the format of the real numbers that values and vectors consist of.
    fn format(self) -> NumberFormat {
        match self {
            Self::Ones | Self::Real | Self::Complex => NumberFormat::Binary32,
            Self::DoubleSingle => NumberFormat::DoubleSingle,
            Self::Double => NumberFormat::Binary64,
        }
    }

    /// Returns the bytes of a vector's number.
    fn bytes(self) -> u128 {
        let reals = if self == Self::Complex { 2 } else { 1 };
        reals * u128::from(self.format().bytes())
    }

    /// Returns the bytes of one real number that values of the matrix are made of.
    fn value_bytes(self) -> u128 {
        match self {
            Self::Ones => 0,
            _ => u128::from(self.format().bytes()),
        }
    }

    /// Returns the real numbers that an operation on a quad computes.
    fn of_quad(self) -> f64 {
        self.format().numbers_of_quad() as f64
    }

    /// Counts so many multiply-adds of single numbers.
    fn madds(self, count: f64) -> Count {
        Count {
            madds: count / self.of_quad(),
            ..Count::default()
        }
    }

    /// Returns the count for one entry and one vector: a sum for ones, a real multiply-add (two operations),
    /// or a complex multiply-add.
    fn entry(self) -> Count {
        let one = Count::default();
        match self {
            Self::Ones => Count {
                adds: 1.0 / self.of_quad(),
                ..one
            },
            Self::Real | Self::Double | Self::DoubleSingle => self.madds(1.0),
            Self::Complex => Count {
                products: 1.0,
                ..one
            },
        }
    }
}

/// A sparse matrix times vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparseProduct {
    rows: usize,
    cols: usize,
    entries: usize,
    values: usize,
    numbers: SparseNumbers,
    vectors: usize,
}

impl SparseProduct {
    /// Returns the products of a matrix of so many rows and columns with `vectors` vectors. Entries that are
    /// 0, and columns without other entries, are not counted. `values` is the number of real numbers that
    /// determine all entries (one triangle of a symmetric matrix; none for ones).
    #[must_use]
    pub fn new(
        [rows, cols]: [usize; 2],
        entries: usize,
        values: usize,
        numbers: SparseNumbers,
        vectors: usize,
    ) -> Self {
        Self {
            rows,
            cols,
            entries,
            values,
            numbers,
            vectors,
        }
    }

    /// Returns the bytes of the values, moved once.
    fn values(&self) -> u128 {
        self.numbers.value_bytes() * self.values as u128
    }

    /// Returns the bytes of the multiplied vectors and of their products.
    fn ends(&self) -> u128 {
        let numbers = (self.rows as u128 + self.cols as u128) * self.vectors as u128;
        self.numbers.bytes() * numbers
    }

    fn count(&self) -> Count {
        self.numbers.entry() * (self.entries as f64 * self.vectors as f64)
    }

    /// Returns bound and reference: values and vectors once, and an operation for each entry and vector.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let must = Traffic::bytes(self.values().saturating_add(self.ends()));
        let known = Known {
            count: self.count(),
            method: "the definition".to_owned(),
            source: "definition".to_owned(),
        };
        let plan = Plan::once(must);
        Figures::least_of(self.numbers.format(), machine, must, &plan, [known])
    }
}

/// An iterative method for a square matrix of real numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SparseMethod {
    /// Conjugate gradients.
    Cg,
    /// Conjugate gradients, preconditioned with the diagonal.
    Pcg,
    /// Stabilised biconjugate gradients, preconditioned with the diagonal.
    Bicgstab,
    /// Inverse iterations, each with so many steps of conjugate gradients (NPB CG).
    Inverse {
        /// Steps of conjugate gradients in an iteration.
        steps: usize,
    },
    /// Power iterations, each with its Rayleigh quotient and the residual of that value.
    Power,
}

/// Work of an iteration: its number of products, and passes over vectors.
struct Passes {
    products: f64,
    /// Vectors that are read or written if local memory does not hold them: each fused pass moves each of its
    /// vectors once.
    moved: f64,
    /// Vectors that are moved if local memory holds them: the factor of each product goes to all sections,
    /// for which it is written and read.
    shared: f64,
    /// Multiply-adds for each row: inner products, and multiples of vectors added to others.
    madds: f64,
    /// Products of two vectors, element by element.
    products_of_numbers: f64,
}

impl SparseMethod {
    /// Returns the work of one iteration.
    ///
    /// | pass of conjugate gradients | reads | writes | multiply-adds a row |
    /// |---|---|---|---|
    /// | q = A p, p q | p | q | 1 |
    /// | r - alpha q, r r | q, r | r | 2 |
    /// | x + alpha p, r + beta p | x, p, r | x, p | 2 |
    ///
    /// With a diagonal d the second and the third pass also compute z = d r, for which each reads d, and r z
    /// is computed with r r.
    ///
    /// | pass of stabilised biconjugate gradients | reads | writes | multiply-adds a row |
    /// |---|---|---|---|
    /// | p = r + beta (p - omega v), y = d p | r, p, v, d | p, y | 2 |
    /// | v = A y, s v | y, s | v | 1 |
    /// | r - alpha v, z = d r | r, v, d | r, z | 1 |
    /// | t = A z, t r, t t | z, r | t | 2 |
    /// | x + alpha y + omega z, r - omega t, s r, r r | x, y, z, r, t, s | x, r | 5 |
    ///
    /// An inverse iteration has its steps; then x - A z with its norm, x z and z z (reads z and x; the
    /// product is not written); then z / |z| (reads z, writes x).
    ///
    /// | pass of power iterations | reads | writes | multiply-adds a row |
    /// |---|---|---|---|
    /// | q = A x, x q, q q | x | q | 2 |
    /// | q - value x and its square, x = q / |q| | q, x | x | 2 |
    fn passes(self) -> Passes {
        let cg = Passes {
            products: 1.0,
            moved: 2.0 + 3.0 + 5.0,
            shared: 2.0,
            madds: 1.0 + 2.0 + 2.0,
            products_of_numbers: 0.0,
        };
        match self {
            Self::Cg => cg,
            Self::Pcg => Passes {
                moved: cg.moved + 2.0,
                madds: cg.madds + 1.0,
                products_of_numbers: 2.0,
                ..cg
            },
            Self::Bicgstab => Passes {
                products: 2.0,
                moved: 6.0 + 3.0 + 5.0 + 3.0 + 8.0,
                shared: 4.0,
                madds: 2.0 + 1.0 + 1.0 + 2.0 + 5.0,
                products_of_numbers: 2.0,
            },
            Self::Inverse { steps } => {
                let steps = steps as f64;
                Passes {
                    products: steps + 1.0,
                    moved: steps * cg.moved + 2.0 + 2.0,
                    shared: steps * cg.shared + 2.0,
                    madds: steps * cg.madds + 4.0,
                    products_of_numbers: 1.0,
                }
            }
            Self::Power => Passes {
                products: 1.0,
                moved: 2.0 + 3.0,
                shared: 2.0,
                madds: 2.0 + 2.0,
                products_of_numbers: 1.0,
            },
        }
    }

    /// Returns the number of vectors that an iteration works with, those of its products included.
    fn kept(self) -> u128 {
        match self {
            Self::Power => 2,
            Self::Cg => 4,
            Self::Pcg | Self::Inverse { .. } => 5,
            Self::Bicgstab => 9,
        }
    }
}

/// A number of iterations of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparseSolver {
    method: SparseMethod,
    rows: usize,
    entries: usize,
    values: usize,
    numbers: SparseNumbers,
    iterations: usize,
}

impl SparseSolver {
    /// Returns `iterations` of a method with a matrix of so many rows and entries other than 0, which
    /// `values` real numbers determine. (Complex numbers are counted as in products; no method here takes
    /// them.)
    #[must_use]
    pub fn new(
        method: SparseMethod,
        rows: usize,
        [entries, values]: [usize; 2],
        numbers: SparseNumbers,
        iterations: usize,
    ) -> Self {
        Self {
            method,
            rows,
            entries,
            values,
            numbers,
            iterations,
        }
    }

    /// Returns bound and reference.
    ///
    /// Bound: values, right-hand side and solution once. Without iterations the values are not needed, as the
    /// right-hand side alone determines the result.
    ///
    /// Reference: the values are moved in every product, unless local memory holds them and the vectors. The
    /// vectors are moved in the passes of the method or, if local memory holds them, for the products alone.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let product =
            SparseProduct::new([self.rows; 2], self.entries, self.values, self.numbers, 1);
        let passes = self.method.passes();
        let (times, rows) = (self.iterations as f64, self.rows as f64);
        let vector = self.numbers.bytes() * self.rows as u128;
        let local = u128::from(machine.cp2.dmem.0) * machine.cp2.sections as u128;
        let vectors = self.method.kept().saturating_mul(vector);
        let (moved, method) = if vectors > local {
            (
                passes.moved,
                "values in every product, vectors in every pass",
            )
        } else {
            (
                passes.shared,
                "values in every product, vectors for products alone",
            )
        };
        let once = match self.iterations {
            0 => 0,
            _ => product.values(),
        };
        let all_local = vectors.saturating_add(once) <= local;
        let values = match all_local {
            true => once as f64,
            false => once as f64 * passes.products * times,
        };
        let must = Traffic::bytes(once.saturating_add(product.ends()));
        let bytes = values + moved * vector as f64 * times;
        let plan = Plan {
            traffic: Traffic::bytes(bytes as u128),
            method: match all_local {
                true => "values once, vectors for products alone".to_owned(),
                false => method.to_owned(),
            },
            source: "passes fused as far as their scalars allow",
        };
        let vectors = Count {
            adds: rows * passes.products_of_numbers / self.numbers.of_quad(),
            ..self.numbers.madds(rows * passes.madds)
        };
        let known = Known {
            count: (product.count() * passes.products + vectors) * times,
            method: "the definition".to_owned(),
            source: match self.method {
                SparseMethod::Cg | SparseMethod::Pcg => "Hestenes, Stiefel 1952",
                SparseMethod::Bicgstab => "van der Vorst 1992",
                SparseMethod::Inverse { .. } => "NPB CG",
                SparseMethod::Power => "von Mises, Pollaczek-Geiringer 1929",
            }
            .to_owned(),
        };
        Figures::least_of(self.numbers.format(), machine, must, &plan, [known])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of binary64 take the units of binary64, however slow those of binary32 are.
    #[test]
    fn double_precision_is_counted_with_its_units() {
        let cycles = |changes: &str| {
            let machine = Machine::load(&format!("vm7+double{changes}"));
            let machine = machine.unwrap_or_else(|e| panic!("{e}"));
            let solver = SparseSolver::new(
                SparseMethod::Cg,
                1600,
                [400_000; 2],
                SparseNumbers::Double,
                3,
            );
            let product = SparseProduct::new([1600; 2], 400_000, 0, SparseNumbers::Double, 1);
            [solver.figures(&machine), product.figures(&machine)].map(|f| f.reference.get())
        };
        let base = cycles("");
        let slow_singles = cycles("+cp2.interval.madd=40+cp2.interval.add=40");
        assert_eq!(base, slow_singles);
        let slow_doubles = cycles("+cp2.interval.double-madd=40+cp2.interval.double-add=40");
        for (slow, base) in slow_doubles.into_iter().zip(base) {
            assert!(slow > 5 * base, "{slow} {base}");
        }
    }

    /// A vector that exceeds local memory is moved ten times in an iteration of conjugate gradients, one that
    /// fits twice.
    #[test]
    fn vectors_are_moved_as_often_as_passes_do() {
        let vm7 = Machine::builtin("vm7").unwrap_or_else(|| panic!("vm7"));
        let cycles = |rows: usize, entries: usize, iterations| {
            let numbers = SparseNumbers::Real;
            let solver =
                SparseSolver::new(SparseMethod::Cg, rows, [entries; 2], numbers, iterations);
            let figures = solver.figures(&vm7);
            (figures.reference.get(), figures.bound.get())
        };
        let of = |rows, entries| cycles(rows, entries, 9).0 - cycles(rows, entries, 8).0;
        assert_eq!(of(100_000, 500_000), (500_000 + 10 * 100_000) / 4);
        assert_eq!(of(16_000, 500_000), (500_000 + 2 * 16_000) / 4);
        // With local values and vectors the time is that of one vector out and in for each product, or of the
        // arithmetic: five multiply-adds a row besides those of the product, sixteen a cycle.
        let few = cycles(1600, 2000, 20);
        assert_eq!(few.0, 20 * (2 * 1600) / 4 + 2000 / 4);
        assert_eq!(few.1, (2000 + 2 * 1600) / 4);
        assert_eq!(of(1600, 40_000), (40_000 + 5 * 1600) / 16);
    }
}
