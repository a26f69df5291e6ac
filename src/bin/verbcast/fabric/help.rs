//! The end of the long help.

pub const TEXT: &str = "\
A fabric is hosts, switches and links; its switches forward by tables. Each of the commands takes --fabric:
  fat-tree:8,3    128 hosts on 80 switches of 8 ports in 3 levels (the m-port n-tree of Zhou, Lin and Chung 2007)
  mesh:16,16      256 hosts, each on a switch of its own (Zhou, Liu and Chung)
  file:PATH       what ibnetdiscover printed, or an ibsim netlist

Hosts are called by their name, as show, dot and svg have it, or by a number from 0.

Examples:
  What is there:
    verbcast fabric show --fabric fat-tree:8,3

  The path of a packet, and the tree of a multicast, which is checked as well:
    verbcast fabric trace --fabric fat-tree:4,3 --from P000 --to P200
    verbcast fabric trace --fabric fat-tree:4,3 --from P000 --group P200,P201,P210,P211

  Why the rule as the papers print it does not work (it ends with status 1):
    verbcast fabric trace --fabric fat-tree:4,2 --from P01 --group P00,P20 --scheme literal

  How many multicast LIDs a group of everyone needs, and how evenly the links are used:
    verbcast fabric mlids --fabric fat-tree:8,2

  A multicast drawn; and this cluster:
    verbcast fabric svg --fabric mesh:5,5 --from N2.2 --group N0.3,N0.4,N3.3,N4.0,N4.2 -o tree.svg
    ibnetdiscover > cluster.net && verbcast fabric svg --fabric file:cluster.net -o cluster.svg

  Whether the real OpenSM, on ibsim, does what is computed here:
    verbcast fabric check --fabric fat-tree:4,3 --engine updn --shuffle
    verbcast fabric check --fabric mesh:4,4 --engine dor --port-order 1,3,2,4,5 --groups 50

Schemes for multicast tables (--scheme):
  cyclic, xy          the papers' schemes, corrected: a tree for each way up, or for each row of sources
  literal             the union as both papers print it, which can forward in circles
  opensm              one tree for each group, from the switch that is nearest to its farthest member
  omnipath            one tree for all groups, through all switches; joins change one switch
  omnipath-pruned     the part of that tree that a group needs

A check starts ibsim and OpenSM, which end with it, and needs no rights and no device. Exit status: 0 if all is well, \
1 if tables differ or a packet does not come to whom it should, 2 if the command line is wrong.";
