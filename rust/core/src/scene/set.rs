//! Several scenes that a question asks about together.

use super::graph::{SceneGraph, SceneView};
use thiserror::Error;

/// Maximum number of images of a set.
pub const MAX_IMAGES: usize = 5;
/// Maximum number of objects of a set, since a set of objects is a 64-bit mask.
pub const MAX_SET_OBJECTS: usize = 64;

/// Why scenes cannot form a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SceneSetError {
    #[error("a set of no images; it has at least one")]
    Empty,
    #[error("{0} images; a set has at most {MAX_IMAGES}")]
    TooManyImages(usize),
    #[error("{0} objects; the images of a set have at most {MAX_SET_OBJECTS} in all")]
    TooManyObjects(usize),
    #[error("scene {0} twice; the images of a set are distinct")]
    Repeated(i64),
    #[error("scene {number} of {available}")]
    Missing { number: i64, available: usize },
}

/// One to five scenes of one vocabulary, whose objects are numbered consecutively, image by image. Nothing is copied: a
/// request for objects of the set reads those of each scene, shifted by the number of objects before it.
#[derive(Clone, Copy, Debug)]
pub struct SceneSet<'a> {
    views: [SceneView<'a>; MAX_IMAGES],
    n_images: usize,
    /// The number of each image's first object, and after the last image the number of all objects.
    starts: [u32; MAX_IMAGES + 1],
}

impl<'a> SceneSet<'a> {
    /// The set of these scenes, which the caller knows to be distinct.
    ///
    /// # Errors
    /// `Empty`, `TooManyImages`, `TooManyObjects`.
    #[inline]
    pub fn new(scenes: impl IntoIterator<Item = SceneView<'a>>) -> Result<Self, SceneSetError> {
        let no_objects = SceneView { attributes: &[], members: &[], related: &[] };
        let mut set = Self { views: [no_objects; MAX_IMAGES], n_images: 0, starts: [0; MAX_IMAGES + 1] };
        let (mut n_images, mut n_objects) = (0, 0);
        for scene in scenes {
            n_objects += scene.n_objects();
            if n_images < MAX_IMAGES {
                set.views[n_images] = scene;
                set.starts[n_images + 1..].fill(n_objects as u32);
            }
            n_images += 1;
        }
        set.n_images = n_images;
        match (n_images, n_objects) {
            (0, _) => Err(SceneSetError::Empty),
            (n, _) if n > MAX_IMAGES => Err(SceneSetError::TooManyImages(n)),
            (_, n) if n > MAX_SET_OBJECTS => Err(SceneSetError::TooManyObjects(n)),
            _ => Ok(set),
        }
    }

    /// The set of the scenes whose numbers are in a row, which is padded with -1.
    ///
    /// # Errors
    /// As `new`; `Missing` for a number without a scene, `Repeated` for one that occurs twice.
    #[inline]
    pub fn of_row(scenes: &'a [SceneGraph], row: &[i32]) -> Result<Self, SceneSetError> {
        let end = row.iter().rposition(|&number| number != -1).map_or(0, |last| last + 1);
        let row = &row[..end];
        for (i, &number) in row.iter().enumerate() {
            if usize::try_from(number).map_or(true, |number| number >= scenes.len()) {
                return Err(SceneSetError::Missing { number: number.into(), available: scenes.len() });
            }
            if row[..i].contains(&number) {
                return Err(SceneSetError::Repeated(number.into()));
            }
        }
        Self::new(row.iter().map(|&number| scenes[number as usize].view()))
    }

    #[inline]
    pub fn n_images(&self) -> usize {
        self.n_images
    }

    #[inline]
    pub fn n_objects(&self) -> usize {
        self.starts[MAX_IMAGES] as usize
    }

    /// The scenes, in order.
    #[inline]
    pub fn views(&self) -> &[SceneView<'a>] {
        &self.views[..self.n_images]
    }

    /// The number of an image's first object.
    #[inline]
    pub(crate) fn start(&self, image: usize) -> u32 {
        self.starts[image]
    }

    /// An object's image, and its number there.
    #[inline]
    pub fn place(&self, object: usize) -> (usize, usize) {
        let later = &self.starts[1..MAX_IMAGES];
        let image = later.iter().map(|&start| usize::from(start as usize <= object)).sum::<usize>();
        (image, object - self.starts[image] as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::samples;

    #[test]
    fn objects_are_numbered_through() {
        let vocab = samples::vocabulary();
        let scenes: Vec<SceneGraph> =
            [3, 0, 2].map(|n: usize| SceneGraph::new(&vocab, vec![[0; 4]; n], &vec![vec![vec![]; n]; 4])).into();
        let set = SceneSet::of_row(&scenes, &[2, 1, 0, -1, -1]).unwrap();
        assert_eq!((set.n_images(), set.n_objects(), set.views().len()), (3, 5, 3));
        assert_eq!([0, 1, 2, 3, 4].map(|object| set.place(object)), [(0, 0), (0, 1), (2, 0), (2, 1), (2, 2)]);
        let alone = SceneSet::of_row(&scenes, &[0]).unwrap();
        assert_eq!((alone.n_images(), alone.place(2)), (1, (0, 2)));
    }

    #[test]
    fn what_is_no_set_is_refused_in_a_sentence() {
        let vocab = samples::vocabulary();
        let scenes: Vec<SceneGraph> = vec![SceneGraph::new(&vocab, vec![[0; 4]; 22], &vec![vec![vec![]; 22]; 4]); 7];
        let message = |row: &[i32]| SceneSet::of_row(&scenes, row).unwrap_err().to_string();
        assert_eq!(message(&[-1, -1]), "a set of no images; it has at least one");
        assert_eq!(message(&[0, 1, 2, 3, 4, 5]), "6 images; a set has at most 5");
        assert_eq!(message(&[0, 1, 2, -1]), "66 objects; the images of a set have at most 64 in all");
        assert_eq!(message(&[4, 1, 4]), "scene 4 twice; the images of a set are distinct");
        assert_eq!(message(&[0, -1, 1]), "scene -1 of 7");
        assert_eq!(message(&[7]), "scene 7 of 7");
        assert_eq!(SceneSet::of_row(&scenes, &[0, 6]).map(|set| set.n_objects()), Ok(44));
    }
}
