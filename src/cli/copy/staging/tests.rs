//! What is made in a folder, and how it gets its place.

use super::super::destination::Destination;
use super::super::digest::Hash;
use super::super::manifest::{Entry, Extent};
use super::super::scratch::Scratch;
use super::*;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::time::{Duration, UNIX_EPOCH};

/// Puts something in the way at the first path.
type Make = fn(&Path, &Path);

fn plan(is_folder: bool, resume: bool) -> Plan {
    Plan {
        job: "abc".to_owned(),
        manifest: 1,
        data: Some(0),
        is_folder,
        chunk: 10,
        hash: Hash::Sha256,
        verify: true,
        resume,
        times: true,
    }
}

fn entry(parent: u32, name: &str, mode: u32, kind: Kind) -> Entry {
    Entry { parent, name: name.into(), mode, modified: Some((1_000_000_000, 5)), kind }
}

fn file(bytes: u64) -> Kind {
    let extents = (bytes > 0).then_some(Extent { offset: 0, len: bytes });
    Kind::File { size: bytes, extents: extents.into_iter().collect() }
}

/// Six bytes in three files, in two folders, and a link that leads out.
fn tree() -> Arc<Manifest> {
    let entries = vec![
        entry(0, "", 0o750, Kind::Folder),
        entry(0, "a", 0o555, Kind::Folder),
        entry(1, "x", 0o640, file(3)),
        entry(1, "none", 0o600, file(0)),
        entry(0, "l", 0o777, Kind::Link(b"/etc/passwd".to_vec())),
        entry(0, "y", 0o444, file(3)),
    ];
    let manifest = Manifest { entries };
    manifest.check().unwrap();
    Arc::new(manifest)
}

fn create(dst: &Path, plan: &Plan, cleanup: &Cleanup) -> Result<Staging, String> {
    let Ok(Destination::Path(template)) = Destination::parse(dst.as_os_str()) else { panic!() };
    Staging::create(&template, Rank(1), plan, cleanup)
}

/// Writes `bytes`, and gives everything its place.
fn put(dst: &Path, manifest: &Arc<Manifest>, bytes: &[u8]) -> Result<(), String> {
    let (staging, tree) = complete(dst, manifest, bytes)?;
    staging.publish(&tree).map_err(|unpublished| unpublished.what)
}

/// Writes `bytes`.
fn complete(
    dst: &Path,
    manifest: &Arc<Manifest>,
    bytes: &[u8],
) -> Result<(Staging, Arc<Tree>), String> {
    let is_folder = manifest.entries[0].kind == Kind::Folder;
    let staging = create(dst, &plan(is_folder, false), &Cleanup::default())?;
    staging.check(manifest)?;
    let tree = Arc::new(staging.tree(manifest, true)?);
    tree.prepare(false)?;
    let mut output = Output::Files(Writer::new(&tree));
    output.write(bytes)?;
    output.finish()?;
    tree.complete()?;
    let hash = Hash::Sha256;
    assert_eq!(tree.hash(super::super::digest::Hasher::new(hash), 4), Ok(hash.of(bytes)));
    Ok((staging, tree))
}

fn mode_of(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_tree_gets_its_place_whole() {
    let scratch = Scratch::new("whole");
    let dst = scratch.path("dst");
    put(&dst, &tree(), b"123456").unwrap();
    assert_eq!(names(&scratch.path("")), ["dst"]);
    assert_eq!(fs::read(dst.join("a/x")).unwrap(), b"123");
    assert_eq!(fs::read(dst.join("y")).unwrap(), b"456");
    assert_eq!(fs::read_link(dst.join("l")).unwrap(), Path::new("/etc/passwd"));
    assert_eq!([mode_of(&dst.join("a")) & 0o700, mode_of(&dst.join("y")) & 0o700], [0o500, 0o400]);
    let expected = UNIX_EPOCH + Duration::new(1_000_000_000, 5);
    for name in ["a", "a/x", "a/none", "y", "l", ""] {
        let metadata = fs::symlink_metadata(dst.join(name)).unwrap();
        assert_eq!(metadata.modified().unwrap(), expected, "{name}");
    }
}

#[test]
fn what_else_is_in_a_folder_stays() {
    let scratch = Scratch::new("merged");
    let dst = scratch.path("dst");
    fs::create_dir_all(dst.join("a")).unwrap();
    for (name, text) in [("a/old", "old"), ("a/x", "to be replaced"), ("z", "old")] {
        fs::write(dst.join(name), text).unwrap();
    }
    let elsewhere = scratch.path("elsewhere");
    fs::write(&elsewhere, "mine").unwrap();
    // Where a file goes, a link is replaced and not followed.
    symlink(&elsewhere, dst.join("y")).unwrap();
    put(&dst, &tree(), b"123456").unwrap();
    assert_eq!(names(&dst), ["a", "l", "y", "z"]);
    assert_eq!(names(&dst.join("a")), ["none", "old", "x"]);
    assert_eq!(fs::read(dst.join("a/x")).unwrap(), b"123");
    assert_eq!(fs::read(dst.join("y")).unwrap(), b"456");
    assert_eq!(fs::read(&elsewhere).unwrap(), b"mine");
}

#[test]
fn a_folder_that_exists_keeps_its_permissions() {
    let scratch = Scratch::new("kept");
    let dst = scratch.path("dst");
    fs::create_dir_all(dst.join("a/n")).unwrap();
    for name in ["a", "a/n"] {
        fs::set_permissions(dst.join(name), fs::Permissions::from_mode(0o775)).unwrap();
    }
    let folder = |parent, name| entry(parent, name, 0o500, Kind::Folder);
    let entries = vec![
        entry(0, "", 0o750, Kind::Folder),
        folder(0, "a"),
        folder(1, "n"),
        folder(2, "new"),
        folder(3, "inner"),
        entry(4, "x", 0o600, file(3)),
        folder(0, "b"),
    ];
    put(&dst, &Arc::new(Manifest { entries }), b"123").unwrap();
    let modes = ["a", "a/n", "a/n/new", "a/n/new/inner", "b"].map(|name| mode_of(&dst.join(name)));
    assert_eq!(modes, [0o775, 0o775, 0o500, 0o500, 0o500]);
    assert_eq!(fs::read(dst.join("a/n/new/inner/x")).unwrap(), b"123");
}

#[test]
fn the_first_moment_of_1970_is_a_time() {
    let scratch = Scratch::new("epoch");
    let dst = scratch.path("dst");
    for modified in [Some((0, 0)), Some((-1, 5))] {
        let root = Entry { modified, ..entry(0, "", 0o600, file(3)) };
        put(&dst, &Arc::new(Manifest { entries: vec![root] }), b"123").unwrap();
        let metadata = fs::metadata(&dst).unwrap();
        let found = (metadata.mtime(), metadata.mtime_nsec() as u32);
        assert_eq!(Some(found), modified);
    }
}

#[test]
fn what_is_in_the_way_is_named_and_nothing_lands_outside() {
    let scratch = Scratch::new("obstacles");
    let outside = scratch.path("outside");
    fs::create_dir(&outside).unwrap();
    let obstacles: [(&str, &str, Make); 4] = [
        ("a", "a link or a file, where a folder", |at, outside| symlink(outside, at).unwrap()),
        ("a", "a link or a file, where a folder", |at, _| fs::write(at, "").unwrap()),
        ("y", "is a folder", |at, _| fs::create_dir(at).unwrap()),
        ("y", "a device, a pipe or a socket", |at, _| {
            drop(std::os::unix::net::UnixListener::bind(at).unwrap());
        }),
    ];
    for (number, (name, expected, make)) in obstacles.into_iter().enumerate() {
        let dst = scratch.path(&number.to_string());
        fs::create_dir(&dst).unwrap();
        make(&dst.join(name), &outside);
        let refused = put(&dst, &tree(), b"123456").unwrap_err();
        assert!(refused.contains(expected) && refused.contains(&format!("/{name} ")), "{refused}");
        assert_eq!(names(&dst), [name]);
        assert_eq!(names(&outside), [""; 0]);
    }
    // As DST itself.
    let single = Arc::new(Manifest { entries: vec![entry(0, "", 0o644, file(3))] });
    for (dst, expected) in [("/dev/null", "a device, a pipe or a socket"), ("/tmp", "is a folder")]
    {
        let refused = put(Path::new(dst), &single, b"123").unwrap_err();
        assert!(refused.starts_with(dst) && refused.contains(expected), "{refused}");
    }
    let refused = put(Path::new("/dev/null"), &tree(), b"123456").unwrap_err();
    assert_eq!(refused, "/dev/null is not a folder");
}

#[test]
fn what_was_moved_before_a_failure_is_told() {
    let scratch = Scratch::new("partial");
    let dst = scratch.path("d");
    fs::create_dir(&dst).unwrap();
    let (staging, tree) = complete(&dst, &tree(), b"123456").unwrap();
    // Before everything else it is looked at; so this is for what comes in between.
    fs::create_dir(dst.join("y")).unwrap();
    let refused = staging.put(&tree).unwrap_err();
    assert!(!refused.is_partial && refused.what.contains("/y is a folder"), "{refused:?}");
    let refused = merge::merge(&tree, &staging.root, &dst).unwrap_err();
    assert!(refused.is_partial && refused.what.contains("/y is a folder"), "{refused:?}");
    drop(staging);
    assert_eq!(names(&dst), ["a", "l", "y"]);
}

#[test]
fn permissions_are_those_of_any_new_file_and_never_more() {
    let scratch = Scratch::new("permissions");
    let (plain, dst) = (scratch.path("plain"), scratch.path("dst"));
    for mode in [0o104_755, 0o102_777, 0o7777, 0o666, 0o600, u32::MAX] {
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true).mode(mode & 0o777).open(&plain).unwrap();
        let manifest = Arc::new(Manifest { entries: vec![entry(0, "", mode, file(4))] });
        let staging = create(&dst, &plan(false, false), &Cleanup::default()).unwrap();
        let in_the_making = staging.path.clone();
        let tree = Arc::new(staging.tree(&manifest, false).unwrap());
        let mut output = Output::Files(Writer::new(&tree));
        output.write(b"some").unwrap();
        output.finish().unwrap();
        assert_eq!(mode_of(&in_the_making), 0o600, "in the making");
        tree.complete().unwrap();
        staging.publish(&tree).unwrap();
        assert_eq!(mode_of(&dst), mode_of(&plain), "{mode:o}");
        fs::remove_file(&dst).unwrap();
        fs::remove_file(&plain).unwrap();
    }
}

#[test]
fn what_fails_leaves_nothing_unless_it_is_to_be_resumed() {
    let scratch = Scratch::new("fails");
    for (is_folder, resume, left) in [
        (false, false, None),
        (true, false, None),
        (false, true, Some(".dst.verbcast.part")),
        (true, true, Some(".dst.verbcast.part")),
    ] {
        let dst = scratch.path("dst");
        let staging = create(&dst, &plan(is_folder, resume), &Cleanup::default()).unwrap();
        assert_eq!(staging.kept().is_some(), resume);
        if resume {
            // As one is that gets its name next.
            let (path, mode) = (scratch.path(".dst.verbcast.part"), 0o744);
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let other = create(&dst, &plan(is_folder, true), &Cleanup::default());
            assert!(other.err().unwrap().ends_with(".part is used by another copy"));
            assert_eq!(mode_of(&path), mode);
        }
        drop(staging);
        assert_eq!(names(&scratch.path("")), left.into_iter().collect::<Vec<_>>());
        if let Some(left) = left {
            cleanup::remove(&scratch.path(left));
        }
    }
}

#[test]
fn a_file_system_without_locks_is_not_taken_for_another_copy() {
    let refused = cannot_lock(Path::new("d"), Errno::NOSYS);
    assert!(refused.starts_with("cannot lock d, which --resume needs: "), "{refused}");
}

#[test]
fn what_an_earlier_copy_has_left_is_made_to_fit() {
    let scratch = Scratch::new("left");
    let left = scratch.path(".dst.verbcast.part");
    fs::create_dir_all(left.join("stale/inner")).unwrap();
    fs::write(left.join("a"), "a file where a folder is to be").unwrap();
    fs::create_dir(left.join("l")).unwrap();
    symlink("/etc/passwd", left.join("y")).unwrap();
    fs::set_permissions(&left, fs::Permissions::from_mode(0o700)).unwrap();
    let staging = create(&scratch.path("dst"), &plan(true, true), &Cleanup::default()).unwrap();
    assert!(staging.is_resumed);
    let tree = Arc::new(staging.tree(&tree(), false).unwrap());
    tree.prepare(true).unwrap();
    let mut output = Output::Files(Writer::new(&tree));
    output.write(b"123456").unwrap();
    output.finish().unwrap();
    tree.complete().unwrap();
    staging.publish(&tree).unwrap();
    let dst = scratch.path("dst");
    assert_eq!(names(&scratch.path("")), ["dst"]);
    assert_eq!(names(&dst), ["a", "l", "y"]);
    assert_eq!(fs::read(dst.join("y")).unwrap(), b"456");
    assert!(fs::symlink_metadata(dst.join("y")).unwrap().is_file());
}

#[test]
fn holes_hide_nothing_that_an_earlier_copy_has_left() {
    let scratch = Scratch::new("stale");
    let left = scratch.path(".dst.verbcast.part");
    fs::write(&left, vec![9; 300_000]).unwrap();
    fs::set_permissions(&left, fs::Permissions::from_mode(0o600)).unwrap();
    let extents = vec![Extent { offset: 100_000, len: 3 }];
    let root = entry(0, "", 0o600, Kind::File { size: 200_000, extents });
    let manifest = Arc::new(Manifest { entries: vec![root] });
    let staging = create(&scratch.path("dst"), &plan(false, true), &Cleanup::default()).unwrap();
    let tree = Arc::new(staging.tree(&manifest, false).unwrap());
    tree.prepare(true).unwrap();
    let mut output = Output::Files(Writer::new(&tree));
    output.write(b"123").unwrap();
    output.finish().unwrap();
    tree.complete().unwrap();
    staging.publish(&tree).unwrap();
    let mut expected = vec![0; 200_000];
    expected[100_000..100_003].copy_from_slice(b"123");
    assert!(fs::read(scratch.path("dst")).unwrap() == expected);
}

#[test]
fn what_somebody_else_has_put_there_is_not_used() {
    let scratch = Scratch::new("foreign");
    let left = scratch.path(".dst.verbcast.part");
    let victim = scratch.path("victim");
    fs::write(&victim, "mine").unwrap();
    symlink(&victim, &left).unwrap();
    assert!(create(&scratch.path("dst"), &plan(false, true), &Cleanup::default()).is_err());
    assert!(create(&scratch.path("dst"), &plan(true, true), &Cleanup::default()).is_err());
    fs::remove_file(&left).unwrap();
    fs::hard_link(&victim, &left).unwrap();
    let linked =
        create(&scratch.path("dst"), &plan(false, true), &Cleanup::default()).err().unwrap();
    assert!(linked.contains("was not left by a copy"), "{linked}");
    assert_eq!(fs::read(&victim).unwrap(), b"mine");
}
