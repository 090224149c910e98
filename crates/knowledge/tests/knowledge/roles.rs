//! Roles that settings give to files.

use kenning_knowledge::role::Role;

use crate::Folder;

#[test]
fn settings_override_the_recognised_role() {
    let folder = Folder::new(&[
        ("CHANGELOG.md", "# Log\n## 1.0.0\n- x\n## 0.9.0\n- y\n"),
        ("NEWS.md", "# News\nText.\n"),
    ]);
    let role = |patterns: &[(Role, Vec<String>)], id: &str| {
        let library = crate::open(folder.base("kb").with_roles(patterns).unwrap());
        library.snapshot().resolve(id).unwrap().role()
    };
    assert_eq!(role(&[], "CHANGELOG"), Role::Changelog);
    assert_eq!(role(&[], "NEWS"), Role::Guidance);
    let patterns = [
        (Role::Changelog, vec!["NEWS.md".to_owned(), "CHANGELOG.md".to_owned()]),
        (Role::Guidance, vec!["CHANGE*".to_owned()]),
    ];
    assert_eq!(role(&patterns, "NEWS"), Role::Changelog);
    assert_eq!(role(&patterns, "CHANGELOG"), Role::Guidance, "guidance exempts a file");
    assert!(folder.base("kb").with_roles(&[(Role::Index, vec!["[".to_owned()])]).is_err());
}
