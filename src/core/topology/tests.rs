use super::*;
use proptest::prelude::*;

fn tree(text: &str) -> SwitchTree {
    text.parse().unwrap_or_else(|error| panic!("{error}:\n{text}"))
}

fn above(text: &str, host: &str) -> Option<String> {
    tree(text).above(host).map(|path| path.to_string())
}

/// What is wrong with a file, in words.
fn wrong(text: &str) -> String {
    text.parse::<SwitchTree>().unwrap_err().to_string()
}

const THREE: &str = "\
# topology/tree of a small system
SwitchName=s0 Nodes=node[01-04,7] LinkSpeed=100
switchname=s1 nodes=node[08-11]   # the second rack
SwitchName=s2 Nodes=\"login1,gpu[1-2]n[1-2]-ib\"

SwitchName=row Switches=s[0-1]
SwitchName=top Switches=row,s2
";

#[test]
fn switches_above_a_host_are_told_from_the_top_down() {
    for host in ["node01", "node04", "node7"] {
        assert_eq!(above(THREE, host).as_deref(), Some("top, row, s0"), "{host}");
    }
    assert_eq!(above(THREE, "node10").as_deref(), Some("top, row, s1"));
    assert_eq!(above(THREE, "gpu2n1-ib").as_deref(), Some("top, s2"));
    assert_eq!(tree(THREE).above("node09").unwrap().leaf(), Some("s1"));
    assert_eq!((tree(THREE).switches(), tree(THREE).hosts()), (5, 5 + 4 + 5));
}

#[test]
fn a_host_is_known_by_its_first_label_too() {
    assert_eq!(above(THREE, "node01.cluster.example").as_deref(), Some("top, row, s0"));
    let longer = "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1.example\n";
    assert_eq!(above(longer, "n1.example").as_deref(), Some("b"));
    for host in ["node1", "node007", "node", "", ".", "top"] {
        assert_eq!(above(THREE, host), None, "{host}");
    }
}

#[test]
fn lines_go_on_and_keys_of_others_say_nothing() {
    let text = "SwitchName=s0 \\\n  Nodes=a,\\\nb\nSwitchName = s1\tNodes= c Speed=1 \\";
    assert_eq!(above(text, "b").as_deref(), Some("s0"));
    assert_eq!(above(text, "c").as_deref(), Some("s1"));
    assert_eq!(
        wrong("# one\n\\\n\nSwitchName=a \\\n Nodes=[\n"),
        "line 4: a bracket in the list is without its other half"
    );
}

/// As the spines of a fat tree are.
#[test]
fn of_several_switches_above_one_the_first_counts() {
    let text = "SwitchName=p0 Switches=l[0-1]\nSwitchName=p1 Switches=l[0-1]\n\
                SwitchName=l0 Nodes=a\nSwitchName=l1 Nodes=b\n";
    assert_eq!(above(text, "a").as_deref(), Some("p0, l0"));
    assert_eq!(above(text, "b").as_deref(), Some("p0, l1"));
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (text, expected) in [
        (
            "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n3",
            "line 2: host n3 is below switch a on line 1 already",
        ),
        ("SwitchName=a\n\nSwitchName=a", "line 3: switch a is on line 1 already"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a", "line 1: switch a is below itself"),
        ("SwitchName=a Switches=a", "line 1: switch a is below itself"),
        (
            "SwitchName=t Switches=a\nSwitchName=a Switches=b\nSwitchName=b Switches=l,a\nSwitchName=l",
            "line 2: switch a is below itself",
        ),
        ("SwitchName=a\nSwitchName=b Switches=a,c", "line 2: there is no line SwitchName=c"),
        ("SwitchName=a Nodes=n1 Switches=b", "line 1: a switch has Nodes= or Switches=, not both"),
        ("SwitchName=a Nodes=n1 nodes=n2", "line 1: Nodes= is there twice"),
        ("Nodes=n1", "line 1: expected SwitchName=, as topology/tree has it, but there is Nodes="),
        (
            "BlockName=b Nodes=n1",
            "line 1: expected SwitchName=, as topology/tree has it, but there is Nodes=",
        ),
        (
            "BlockSizes=4,16",
            "line 1: expected SwitchName=, as topology/tree has it, but there is BlockSizes=",
        ),
        ("\nInclude other.conf", "line 2: expected KEY=VALUE, but there is \"Include other.conf\""),
        ("SwitchName=a Nodes=\"n1", "line 1: expected KEY=VALUE, but there is \"Nodes=\\\"n1\""),
        ("SwitchName=a Nodes=", "line 1: expected KEY=VALUE, but there is \"Nodes=\""),
        ("SwitchName=\"a b\"", "line 1: \"a b\" is not a switch's name"),
        ("SwitchName=s[0-3] Nodes=n1", "line 1: \"s[0-3]\" is not a switch's name"),
        (
            "SwitchName=a Nodes=n[1-x]",
            "line 1: [1-x] has something that is neither a number nor a range such as 1-4",
        ),
        ("SwitchName=a Nodes=n[]", "line 1: [] has something"),
        ("SwitchName=a Nodes=n[-3]", "line 1: [-3] has something"),
        ("SwitchName=a Nodes=n[7-3]", "line 1: the range 7-3 ends before it begins"),
        ("SwitchName=a Nodes=n[1-3", "line 1: a bracket in the list is without its other half"),
        ("SwitchName=a Nodes=n1-3]", "line 1: a bracket in the list is without its other half"),
        ("SwitchName=a Nodes=n1,,n2", "line 1: a name in the list is empty"),
        ("SwitchName=a Nodes=n1,", "line 1: a name in the list is empty"),
        ("SwitchName=a Nodes=nö", "line 1: 'ö' cannot be in a name"),
        ("# nothing\n", "line 1: there is no switch in the file"),
        ("", "line 1: there is no switch in the file"),
    ] {
        let error = wrong(text);
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
}

#[test]
fn what_is_unreasonably_large_is_refused_before_it_takes_memory() {
    let list = "line 1: the list stands for more than 65536 names";
    for nodes in [
        "n[1-65537]",
        "n[0-999999999999999999]",
        "n[0-99]m[0-99]k[0-99]",
        "n[0-999999999999999999][0-999999999999999999][0-999999999999999999]",
        "a[1-40000],b[1-40000]",
    ] {
        assert_eq!(wrong(&format!("SwitchName=a Nodes={nodes}")), list, "{nodes}");
    }
    assert_eq!(wrong(&format!("SwitchName=a Nodes=n[{}1]", "1,".repeat(1 << 16))), list);
    assert_eq!(tree("SwitchName=a Nodes=n[1-65536]").hosts(), 65_536);
    let number = wrong("SwitchName=a Nodes=n[0-9999999999999999999]");
    assert!(number.contains("neither a number"), "{number}");
    let long = "line 1: a name in the list has more than 255 bytes";
    for nodes in ["n".repeat(256), "[1]".repeat(100_000), format!("{}[9-10]", "n".repeat(254))] {
        assert_eq!(wrong(&format!("SwitchName=a Nodes={nodes}")), long);
    }
    let lines = (0..5).map(|leaf| format!("SwitchName=s{leaf} Nodes=s{leaf}n[1-65536]\n"));
    let many = "line 5: the file names more than 262144 hosts and switches";
    assert_eq!(wrong(&lines.collect::<String>()), many);
    assert!(wrong(&format!("SwitchName={}", "s".repeat(65))).contains("1 to 64 printable"));
}

/// A chain of switches, the last of which has a host.
fn chain(len: usize) -> String {
    let line = |at: usize| format!("SwitchName=s{at} Switches=s{}\n", at + 1);
    (1..len).map(line).collect::<String>() + &format!("SwitchName=s{len} Nodes=n\n")
}

#[test]
fn switches_above_each_other_are_counted() {
    assert_eq!(tree(&chain(MAX_SWITCHES)).above("n").unwrap().names().len(), MAX_SWITCHES);
    let deeper = wrong(&chain(MAX_SWITCHES + 1));
    assert_eq!(deeper, "line 17: more than 16 switches are above each other");
    let names = vec!["s"; MAX_SWITCHES + 1];
    assert_eq!(SwitchPath::new(names), Err(SwitchPathError::TooMany(MAX_SWITCHES + 1)));
}

#[test]
fn lists_are_read_as_slurm_does() {
    let names = |text| HostList::parse(text).map(|list| list.names().collect::<Vec<_>>());
    for (text, expected) in [
        ("node1", &["node1"][..]),
        ("n[08-11]", &["n08", "n09", "n10", "n11"]),
        ("n[1-3,007]", &["n1", "n2", "n3", "n007"]),
        (
            "rack[07-08,12]n[3,4]-ib,login1",
            &[
                "rack07n3-ib",
                "rack07n4-ib",
                "rack08n3-ib",
                "rack08n4-ib",
                "rack12n3-ib",
                "rack12n4-ib",
                "login1",
            ],
        ),
        ("[0-1]", &["0", "1"]),
        ("n[00]", &["n00"]),
    ] {
        assert_eq!(names(text).unwrap(), expected, "{text}");
        assert_eq!(HostList::parse(text).unwrap().len(), expected.len(), "{text}");
    }
}

/// Lines that are nearly such of a topology.
fn nearly() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "SwitchName=",
        "Nodes=",
        "Switches=",
        "LinkSpeed=1",
        "s0",
        "s1",
        "s2",
        "n[0-3]",
        "n[",
        "]",
        ",",
        "-",
        "\"",
        "#",
        "\\",
        "\n",
        "\n",
        " ",
        "9",
        "=",
        "ä",
        "s[0-2]",
    ]);
    prop::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused_at_a_line_of_it(text in prop_oneof![nearly(), ".{0,200}"]) {
        match text.parse::<SwitchTree>() {
            Ok(tree) => prop_assert!(tree.switches() > 0),
            Err(error) => prop_assert!((1..=text.lines().count().max(1)).contains(&error.line), "{}", error),
        }
        let _ = HostList::parse(&text).map(|list| assert_eq!(list.names().count(), list.len()));
    }

    /// Random trees, written in any order of lines: each host is where its switch is.
    #[test]
    fn a_tree_is_read_as_it_was_written(
        parents in prop::collection::vec(any::<prop::sample::Index>(), 1..12),
        leaves in prop::collection::vec(any::<prop::sample::Index>(), 1..20),
        order in any::<u64>(),
    ) {
        // Switch i is below one of those before it.
        let above: Vec<usize> = (0..parents.len()).map(|at| if at == 0 { 0 } else { parents[at].index(at) }).collect();
        let has_below = |switch: usize| (switch + 1..above.len()).any(|at| above[at] == switch);
        let bottom: Vec<_> = (0..above.len()).filter(|switch| !has_below(*switch)).collect();
        let leaf_of: Vec<_> = leaves.iter().map(|leaf| bottom[leaf.index(bottom.len())]).collect();
        let mut lines: Vec<String> = (0..above.len()).map(|switch| {
            let below: Vec<String> = match has_below(switch) {
                true => (switch + 1..above.len()).filter(|at| above[*at] == switch).map(|at| format!("s{at}")).collect(),
                false => (0..leaf_of.len()).filter(|host| leaf_of[*host] == switch).map(|host| format!("n{host}")).collect(),
            };
            let key = if has_below(switch) { "Switches" } else { "Nodes" };
            match below.is_empty() {
                true => format!("SwitchName=s{switch}\n"),
                false => format!("SwitchName=s{switch} {key}={}\n", below.join(",")),
            }
        }).collect();
        let rotated = order as usize % lines.len();
        lines.rotate_left(rotated);
        let Ok(tree) = lines.concat().parse::<SwitchTree>() else {
            return Err(TestCaseError::fail(lines.concat()));
        };
        for (host, leaf) in leaf_of.iter().enumerate() {
            let mut names = vec![format!("s{leaf}")];
            let mut switch = *leaf;
            while switch != 0 {
                switch = above[switch];
                names.insert(0, format!("s{switch}"));
            }
            let found = tree.above(&format!("n{host}")).unwrap();
            prop_assert_eq!(found.names(), &names[..]);
        }
    }
}
