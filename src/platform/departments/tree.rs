use std::collections::{BTreeMap, HashMap, HashSet};

use crate::store::FromRow;

/// Every search carries the user's ancestors.
const MAX_LEVELS: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub(super) struct TreePosition {
    pub(super) org_id: String,
    pub(super) parent_id: Option<String>,
    pub(super) platform_org_id: String,
    pub(super) is_deleted: bool,
}

#[derive(Debug, Default)]
pub(super) struct Tree {
    places: HashMap<String, TreePosition>,
    /// Heights of child subtrees with counts; recomputing would visit whole subtrees.
    levels_of_children: HashMap<String, BTreeMap<usize, usize>>,
    id_by_platform_id: HashMap<String, String>,
}

impl Tree {
    pub(super) fn put(&mut self, place: TreePosition) {
        let levels = self.levels(&place.org_id);
        if let Some(before) = self.places.remove(&place.org_id) {
            self.id_by_platform_id.remove(&before.platform_org_id);
            self.carry_up(before.parent_id, Some(levels), None);
        }
        self.id_by_platform_id.insert(place.platform_org_id.clone(), place.org_id.clone());
        let parent_id = place.parent_id.clone();
        self.places.insert(place.org_id.clone(), place);
        self.carry_up(parent_id, None, Some(levels));
    }

    fn carry_up(
        &mut self,
        mut parent_id: Option<String>,
        mut before: Option<usize>,
        mut after: Option<usize>,
    ) {
        for _ in 0..2 * MAX_LEVELS {
            let Some(org_id) = parent_id else { return };
            let levels = self.levels(&org_id);
            let of_children = self.levels_of_children.entry(org_id.clone()).or_default();
            if let Some(before) = before {
                match of_children.get_mut(&before) {
                    Some(count) if *count > 1 => *count -= 1,
                    _ => drop(of_children.remove(&before)),
                }
            }
            if let Some(after) = after {
                *of_children.entry(after).or_default() += 1;
            }
            let now = self.levels(&org_id);
            if now == levels {
                return;
            }
            (before, after) = (Some(levels), Some(now));
            parent_id = self.places.get(&org_id).and_then(|place| place.parent_id.clone());
        }
    }

    fn levels(&self, org_id: &str) -> usize {
        let deepest = self.levels_of_children.get(org_id).and_then(BTreeMap::last_key_value);
        1 + deepest.map_or(0, |(levels, _)| *levels)
    }

    pub(super) fn by_platform_id(&self, platform_org_id: &str) -> Option<&String> {
        self.id_by_platform_id.get(platform_org_id)
    }

    pub(super) fn depth(&self, org_id: &str) -> usize {
        self.above(org_id).count()
    }

    /// Nearest first; terminates on cycles.
    fn above(&self, org_id: &str) -> impl Iterator<Item = &str> {
        let mut seen = HashSet::new();
        let parent = |org_id: &str| self.places.get(org_id)?.parent_id.as_deref();
        std::iter::successors(parent(org_id), move |above| parent(above))
            .take_while(move |above| seen.insert(*above))
    }

    /// The parent must exist, lie outside the subtree, and fit its height.
    pub(super) fn check_parent(&self, org_id: &str, parent_id: &str) -> Result<(), String> {
        if parent_id == org_id {
            return Err("parentId: a department cannot be its own parent".to_owned());
        }
        if self.places.get(parent_id).is_none_or(|parent| parent.is_deleted) {
            return Err(format!(
                "parentId: there is no department {parent_id:?}; a parent comes before its children"
            ));
        }
        if self.above(parent_id).any(|above| above == org_id) {
            return Err(format!("parentId: {parent_id:?} is below this department"));
        }
        if self.depth(parent_id) + 1 + self.levels(org_id) > MAX_LEVELS {
            return Err(format!("parentId: departments may be at most {MAX_LEVELS} levels deep"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place(org_id: &str, parent_id: Option<&str>) -> TreePosition {
        TreePosition {
            org_id: org_id.to_owned(),
            parent_id: parent_id.map(str::to_owned),
            platform_org_id: format!("p-{org_id}"),
            is_deleted: false,
        }
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(64))]

        #[test]
        fn allowed_moves_leave_a_tree(moves in proptest::collection::vec((0..90_u8, 0..90_u8), 0..600)) {
            let mut tree = Tree::default();
            for (child, parent) in moves {
                let (child, parent) = (child.to_string(), parent.to_string());
                if tree.check_parent(&child, &parent).is_ok() {
                    tree.put(place(&child, Some(&parent)));
                } else if !tree.places.contains_key(&child) {
                    tree.put(place(&child, None));
                }
            }
            for org_id in tree.places.keys() {
                let above: Vec<&str> = tree.above(org_id).collect();
                prop_assert!(above.len() < MAX_LEVELS);
                prop_assert!(!above.contains(&org_id.as_str()));
                prop_assert!(above.last().is_none_or(|root| tree.places[*root].parent_id.is_none()));
                let below = tree.places.keys().filter(|other| tree.above(other).any(|above| above == org_id));
                let deepest = below.map(|other| tree.depth(other)).max().unwrap_or(above.len());
                prop_assert_eq!(tree.levels(org_id), 1 + deepest - above.len());
            }
        }
    }
}
