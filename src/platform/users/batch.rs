//! Rows that one synchronisation may change or collide with.

use std::collections::{HashMap, HashSet};

use super::{
    forms::UserWrite,
    picture::{self, Picture, PictureContent},
    rules::{StoredUser, UserChange, with_suffix},
};
use crate::identity::logins;
use crate::platform::shared::{
    directory_rows::{RowChange, SynchronisationBatch},
    patch::Written,
};

/// Users by unique values, with their stored states.
#[derive(Debug)]
pub(super) struct UserBatch {
    suffix: Option<String>,
    users: SynchronisationBatch<StoredUser>,
    /// Ids by folded login, of which there are several in directories of earlier versions.
    ids_by_login: HashMap<String, HashSet<String>>,
    id_by_platform_id: HashMap<String, String>,
    /// Stored pictures' digests by user id.
    digests: HashMap<String, Vec<u8>>,
    /// New pictures by path.
    uploads: HashMap<String, PictureContent>,
}

impl UserBatch {
    pub(super) fn new(suffix: Option<String>) -> Self {
        Self {
            suffix,
            users: SynchronisationBatch::new(Vec::new()),
            ids_by_login: HashMap::new(),
            id_by_platform_id: HashMap::new(),
            digests: HashMap::new(),
            uploads: HashMap::new(),
        }
    }

    pub(super) fn suffix(&self) -> Option<&str> {
        self.suffix.as_deref()
    }

    /// Logins that a change may take, including ones the form omits.
    pub(super) fn logins_of(&self, form: &UserWrite) -> Vec<String> {
        match form.login_id.as_deref() {
            Some(login) if !login.is_empty() => vec![with_suffix(login, self.suffix())],
            _ => {
                let known = self.users.find(&form.user_id);
                let login = known.map(|user| &user.login_id);
                let number = known.and_then(|user| user.mobile.as_ref());
                [login, number, form.mobile.as_ref()].into_iter().flatten().cloned().collect()
            }
        }
    }

    /// Adds users as the database holds them.
    pub(super) fn add_stored(&mut self, users: Vec<StoredUser>) {
        for user in &users {
            self.index(user);
        }
        self.users.add_stored(users);
    }

    fn index(&mut self, user: &StoredUser) {
        if !user.is_deleted {
            self.ids_by_login.entry(logins::fold(&user.login_id)).or_default().insert(user.user_id.clone());
        }
        self.id_by_platform_id.insert(user.platform_user_id.clone(), user.user_id.clone());
    }

    pub(super) fn add_digest(&mut self, user_id: String, digest: Vec<u8>) {
        self.digests.insert(user_id, digest);
    }

    /// Applies one change, or nothing on failure.
    pub(super) fn apply(
        &mut self,
        mut change: UserChange,
        departments: &HashSet<String>,
    ) -> Result<(), String> {
        let picture = change.picture.take();
        let known = self.users.find(&change.form.user_id);
        let written = self.written_picture(known, picture.as_ref());
        let user = change.apply(known, self.suffix(), &written)?;
        check_departments(&user, known, departments)?;
        self.put(user)?;
        if let (Some(Picture::Content(content)), Written::Set(path)) = (picture, written) {
            self.digests.insert(change.form.user_id, content.digest.clone());
            self.uploads.insert(path, content);
        }
        Ok(())
    }

    /// Avatar change; an identical avatar is none.
    fn written_picture(&self, known: Option<&StoredUser>, picture: Option<&Picture>) -> Written<String> {
        let stored = known.and_then(|known| known.picture.as_deref().map(|picture| (known, picture)));
        match picture {
            None => Written::Keep,
            Some(Picture::None) => Written::Clear,
            Some(Picture::Address(address)) => match stored {
                Some((_, stored)) if is_address_of(stored, address) => Written::Keep,
                _ => Written::Set(address.clone()),
            },
            Some(Picture::Content(content)) => match stored {
                Some((known, stored))
                    if stored.starts_with(picture::PATH)
                        && self.digests.get(&known.user_id) == Some(&content.digest) =>
                {
                    Written::Keep
                }
                _ => Written::Set(content.path()),
            },
        }
    }

    /// Refuses a login of another person. One that was alike before stays.
    fn check_login(&self, user: &StoredUser) -> Result<(), String> {
        let login = &user.login_id;
        let ids = self.ids_by_login.get(&logins::fold(login));
        let others = ids.into_iter().flatten().filter(|id| **id != user.user_id);
        let mut others = others.filter_map(|id| self.users.find(id)).map(|other| &other.login_id).peekable();
        let Some(alike) = others.peek().copied() else { return Ok(()) };
        if others.any(|other| other == login) {
            return Err(format!("loginId: {login:?} belongs to another user"));
        }
        let before = self.users.find(&user.user_id);
        if before.is_some_and(|before| !before.is_deleted && before.login_id == *login) {
            return Ok(());
        }
        Err(format!("loginId: {login:?} differs in case or composition alone from {alike:?} of another user"))
    }

    /// Inserts a row if login and platform id are free.
    fn put(&mut self, user: StoredUser) -> Result<(), String> {
        if !user.is_deleted {
            self.check_login(&user)?;
        }
        let others = |owner: Option<&String>| owner.is_some_and(|owner| *owner != user.user_id);
        if others(self.id_by_platform_id.get(&user.platform_user_id)) {
            return Err(format!("platformUserId: {:?} belongs to another user", user.platform_user_id));
        }
        if let Some(before) = self.users.find(&user.user_id) {
            self.id_by_platform_id.remove(&before.platform_user_id);
            if !before.is_deleted {
                let ids = self.ids_by_login.entry(logins::fold(&before.login_id));
                ids.or_default().remove(&before.user_id);
            }
        }
        self.index(&user);
        self.users.put(user);
        Ok(())
    }

    pub(super) fn changes(&self) -> Vec<RowChange<'_, StoredUser>> {
        self.users.changes()
    }

    pub(super) fn upload_of(&self, user: &StoredUser) -> Option<&PictureContent> {
        self.uploads.get(user.picture.as_ref()?)
    }
}

/// Whether `address` is the stored avatar's on any host: the server may be renamed.
fn is_address_of(stored: &str, address: &str) -> bool {
    stored == address || (stored.starts_with(picture::PATH) && address.ends_with(stored))
}

/// New departments must exist; membership of deleted ones may stay.
fn check_departments(
    user: &StoredUser,
    known: Option<&StoredUser>,
    departments: &HashSet<String>,
) -> Result<(), String> {
    let missing = |id: &&String| !departments.contains(*id);
    let stays = known.is_some_and(|known| known.org_id == user.org_id);
    if let Some(org_id) = user.org_id.as_ref().filter(|_| !stays).filter(missing) {
        return Err(format!("orgId: there is no department {org_id:?}"));
    }
    let of_before = known.map(|known| known.deputy_org_ids.as_slice()).unwrap_or_default();
    let mut joined = user.deputy_org_ids.iter().filter(|id| !of_before.contains(id));
    match joined.find(missing) {
        Some(org_id) => Err(format!("deputyOrgIds: there is no department {org_id:?}")),
        None => Ok(()),
    }
}
