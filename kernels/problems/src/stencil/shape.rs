//! Shapes of stencils: points, coefficients, classes and edges.

use crate::error::ProblemError;
use std::fmt;

/// Most points of a stencil: all within a distance of 1 along each axis.
const MOST: usize = 27;

/// Rule for elements beyond the edges of an array, along every axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Edge {
    /// Elements beyond an edge are 0.
    #[default]
    Zero,
    /// The outermost elements keep their values from step to step (Dirichlet's condition), and only inner
    /// elements are computed.
    Fixed,
    /// The outermost elements are repeated: u(-1) = u(0). The mirror lies half a step beyond them (Neumann's
    /// condition for cells, no flow across the edge).
    Mirrored,
    /// The array continues with its opposite side.
    Periodic,
}

impl Edge {
    /// All rules.
    pub const ALL: [Self; 4] = [Self::Zero, Self::Fixed, Self::Mirrored, Self::Periodic];

    /// Returns the name of the rule.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Zero => "zero",
            Self::Fixed => "fixed",
            Self::Mirrored => "mirrored",
            Self::Periodic => "periodic",
        }
    }

    /// Returns the rule of a name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|edge| edge.name() == name)
    }

    /// Returns the index of the element that stands for index `at`, which may be one beyond either end, along
    /// an axis of `count` elements; none for a zero.
    #[must_use]
    pub fn index(self, at: isize, count: usize) -> Option<usize> {
        let most = isize::try_from(count).unwrap_or(isize::MAX);
        match self {
            Self::Mirrored => usize::try_from(at.clamp(0, (most - 1).max(0))).ok(),
            Self::Periodic => usize::try_from(at.rem_euclid(most.max(1))).ok(),
            Self::Zero | Self::Fixed => usize::try_from(at).ok().filter(|&at| at < count),
        }
    }
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A point of a stencil: a neighbour, or the element itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StencilPoint {
    /// Offset along planes, rows and columns: -1, 0 or 1 each.
    pub offset: [i8; 3],
    /// Coefficient of the point, unless every element of the array has coefficients of its own.
    pub coefficient: f32,
}

impl StencilPoint {
    /// Returns the number of axes with an offset: 0 for the element itself, 1 across a face of it, 2 across
    /// an edge, 3 across a corner.
    #[must_use]
    pub fn class(&self) -> usize {
        self.offset.iter().filter(|&&d| d != 0).count()
    }
}

/// The points of a stencil within a distance of 1 along each of two or three axes.
#[derive(Clone, Debug, PartialEq)]
pub struct StencilShape {
    axes: usize,
    points: Vec<StencilPoint>,
}

impl StencilShape {
    /// Returns a stencil for arrays of two or three axes.
    ///
    /// # Errors
    /// Another number of axes, no points, a duplicate point, offsets beyond 1, or coefficients that are not
    /// finite.
    pub fn new(axes: usize, points: Vec<StencilPoint>) -> Result<Self, ProblemError> {
        if !(2..=3).contains(&axes) {
            return Err(ProblemError::odd("the axes of a stencil", axes, "2 or 3"));
        }
        if points.is_empty() || points.len() > MOST {
            let expected = format!("1 to {MOST}");
            return Err(ProblemError::odd(
                "the points of a stencil",
                points.len(),
                expected,
            ));
        }
        for (i, point) in points.iter().enumerate() {
            let far = point.offset.iter().any(|d| !(-1..=1).contains(d));
            if far || (axes == 2 && point.offset[0] != 0) {
                return Err(ProblemError::odd(
                    "the offset of a point",
                    format!("{:?}", &point.offset[3 - axes..]),
                    "-1, 0 or 1 along each axis",
                ));
            }
            if points[..i].iter().any(|other| other.offset == point.offset) {
                return Err(ProblemError::odd(
                    "a second point at an offset",
                    format!("{:?}", &point.offset[3 - axes..]),
                    "each offset once",
                ));
            }
            if !point.coefficient.is_finite() {
                return Err(ProblemError::odd(
                    "a coefficient",
                    point.coefficient,
                    "a finite number",
                ));
            }
        }
        Ok(Self { axes, points })
    }

    /// Returns a stencil that is named by its number of points: 5 (faces) and 9 (all) for two axes, 7
    /// (faces), 19 (no corners) and 27 (all) for three. There is one coefficient for each
    /// [class](StencilPoint::class) of points; the default is a mean. Points are in the order of their
    /// offsets.
    ///
    /// # Errors
    /// Another number of points, or a number of coefficients that differs from that of classes.
    pub fn from_classes(points: usize, coefficients: Option<&[f32]>) -> Result<Self, ProblemError> {
        let (axes, most, usual): (usize, usize, &[f32]) = match points {
            5 => (2, 1, &[0.4, 0.15]),
            9 => (2, 2, &[0.2, 0.15, 0.05]),
            7 => (3, 1, &[0.4, 0.1]),
            19 => (3, 2, &[0.22, 0.06, 0.035]),
            27 => (3, 3, &[0.2, 0.06, 0.03, 0.01]),
            other => {
                return Err(ProblemError::odd(
                    "the points of a stencil",
                    other,
                    "5 or 9 for two axes, 7, 19 or 27 for three",
                ));
            }
        };
        let coefficients = coefficients.unwrap_or(usual);
        if coefficients.len() != most + 1 {
            return Err(ProblemError::odd(
                "the coefficients of a stencil",
                format!("{} for {points} points", coefficients.len()),
                format!(
                    "{}, one for each class: the element itself, then across faces{}",
                    most + 1,
                    [", edges", ", edges, corners"]
                        .get(most.wrapping_sub(2))
                        .unwrap_or(&"")
                ),
            ));
        }
        let mut all = Vec::new();
        for at in 0..MOST {
            let offset = [at / 9, at / 3 % 3, at % 3].map(|d| d as i8 - 1);
            let mut point = StencilPoint {
                offset,
                coefficient: 0.0,
            };
            let class = point.class();
            if class <= most && (axes == 3 || offset[0] == 0) {
                point.coefficient = coefficients[class];
                all.push(point);
            }
        }
        Self::new(axes, all)
    }

    /// Returns the number of axes, two or three.
    #[must_use]
    pub fn axes(&self) -> usize {
        self.axes
    }

    /// Returns the points, in the order in which they were given.
    #[must_use]
    pub fn points(&self) -> &[StencilPoint] {
        &self.points
    }

    /// True if it is one of [`StencilShape::from_classes`], whatever the order of its points.
    #[must_use]
    pub fn is_of_classes(&self) -> bool {
        let mut classes: [Option<f32>; 4] = [None; 4];
        let alike = self.points.iter().all(|point| {
            let class = &mut classes[point.class()];
            *class.get_or_insert(point.coefficient) == point.coefficient
        });
        let counts = Self::from_classes(self.points.len(), None);
        alike
            && counts.is_ok_and(|usual| {
                usual.axes == self.axes
                    && usual.points.iter().all(|point| {
                        let mut own = self.points.iter();
                        own.any(|own| own.offset == point.offset)
                    })
            })
    }

    /// Returns the sum of the coefficients' absolute values.
    #[must_use]
    pub fn gain(&self) -> f64 {
        let sizes = self.points.iter();
        sizes.map(|point| f64::from(point.coefficient).abs()).sum()
    }
}
