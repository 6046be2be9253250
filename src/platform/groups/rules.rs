//! Limits, roles and permissions (book: reference/groups.md).

/// Maximum members of a group.
pub const MAX_MEMBERS: usize = 10_000;

/// Groups of a person in the own tenant.
///
/// Each is a principal in every search.
pub const MAX_GROUPS: usize = 2_000;

/// Groups of a person in other tenants.
///
/// These cannot use up the own tenant's limit.
pub const MAX_OUTER_GROUPS: usize = 500;

/// Role of a member, ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupRole {
    /// Ordinary.
    Member = 0,
    /// Adds and removes members.
    Administrator = 1,
    /// Appoints administrators, transfers and ends the group. Exactly one.
    Owner = 2,
}

impl GroupRole {
    /// Role by number.
    pub fn from_number(number: i64) -> Option<Self> {
        [Self::Member, Self::Administrator, Self::Owner].into_iter().find(|role| role.number() == number)
    }

    /// Number of the role.
    pub fn number(self) -> i64 {
        self as i64
    }
}

/// Operation on a visible group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupOperation {
    /// Apply to an open group.
    Apply,
    /// Leave the group.
    Leave,
    /// Add people, including outer ones.
    AddMembers,
    /// Remove an ordinary member.
    RemoveMember,
    /// List and decide applications.
    DecideApplications,
    /// Create a join code.
    MakeJoinCode,
    /// Change name, icon or openness.
    Change,
    /// Remove an administrator.
    RemoveAdministrator,
    /// Remove the owner.
    RemoveOwner,
    /// Change roles, including transfer of ownership.
    ChangeRoles,
    /// Denied to an acting owner: an ended group cannot return.
    End,
}

/// Permissions by role.
#[rustfmt::skip]
pub const PERMISSIONS: &[(GroupOperation, [bool; 4])] = &[
    //                                 not in it, member, administrator, owner
    (GroupOperation::Apply,                 [true,  false, false, false]),
    // The owner transfers the group first.
    (GroupOperation::Leave,                 [false, true,  true,  false]),
    (GroupOperation::AddMembers,            [false, false, true,  true]),
    (GroupOperation::RemoveMember,          [false, false, true,  true]),
    (GroupOperation::DecideApplications,    [false, false, true,  true]),
    (GroupOperation::MakeJoinCode,          [false, false, true,  true]),
    (GroupOperation::Change,                [false, false, true,  true]),
    (GroupOperation::RemoveAdministrator,   [false, false, false, true]),
    (GroupOperation::RemoveOwner,           [false, false, false, false]),
    (GroupOperation::ChangeRoles,           [false, false, false, true]),
    (GroupOperation::End,                   [false, false, false, true]),
];

/// Whether the role, or a non-member (`None`), may do this.
pub fn may(role: Option<GroupRole>, operation: GroupOperation) -> bool {
    let column = match role {
        None => 0,
        Some(GroupRole::Member) => 1,
        Some(GroupRole::Administrator) => 2,
        Some(GroupRole::Owner) => 3,
    };
    PERMISSIONS.iter().any(|(of, allowed)| *of == operation && allowed[column])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_cover_operations_and_grow_with_role() {
        let mut operations: Vec<String> =
            PERMISSIONS.iter().map(|(operation, _)| format!("{operation:?}")).collect();
        operations.sort();
        operations.dedup();
        assert_eq!(operations.len(), PERMISSIONS.len());
        assert_eq!(PERMISSIONS.len(), GroupOperation::End as usize + 1);
        for (operation, [outside, member, administrator, owner]) in PERMISSIONS {
            assert!(!outside || *operation == GroupOperation::Apply, "{operation:?}");
            assert!(!member || *administrator, "{operation:?}");
            assert!(!administrator || *owner || *operation == GroupOperation::Leave, "{operation:?}");
        }
    }
}
