//! The end of the long help.

pub const TEXT: &str = "\
A fabric is hosts, switches and links; its switches forward by tables.

All commands but figures take --fabric:
  fat-tree:8,3    128 hosts on 80 switches of 8 ports in 3 levels (the m-port n-tree of Zhou,
                  Lin and Chung 2007)
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

  The rules of the Omni-Path fabric manager: a pruned tree, joins and a leave; who takes over
  keeps the root; groups that share multicast LIDs; the groups of IPoIB beforehand; and joins
  where some links are slow:
    verbcast fabric omnipath --fabric mesh:5,1 --pruning \\
      join:N0.0,ff12::1 join:N4.0,ff12::1 leave:N0.0,ff12::1
    verbcast fabric omnipath --fabric mesh:5,1 --current-root SW1.0 --min-cost-improvement 50
    verbcast fabric omnipath --fabric mesh:2,1 \\
      --mlid-share mask=0xff,value=0x1,max=2,per-pkey=1 join:all,0x101 join:0,0x201
    verbcast fabric omnipath --fabric mesh:2,1 --multicast-group pkey=0x8001,mtu=2048 \\
      join:all,ff12:401b:8001::1,pkey=0x8001
    verbcast fabric omnipath --fabric file:cluster.net --disable-strict-check \\
      join:all,ff12::1,mtu=4096,rate=100

  A multicast drawn; and this cluster:
    verbcast fabric svg --fabric mesh:5,5 --from N2.2 --group N0.3,N0.4,N3.3,N4.0,N4.2 -o tree.svg
    ibnetdiscover > cluster.net && verbcast fabric svg --fabric file:cluster.net -o cluster.svg

  Whether the real OpenSM, on ibsim, does what is computed here:
    verbcast fabric check --fabric fat-tree:4,3 --engine updn --shuffle
    verbcast fabric check --fabric mesh:4,4 --engine dor --port-order 1,3,2,4,5 --groups 50
    verbcast fabric check --fabric mesh:4,4 --engine updn --roots SW1.1

  Tables into the switches of a fabric that ibsim simulates: what would be written, writing it,
  and putting it back (LD_PRELOAD names ibsim's library, as for all programs that are to be on
  ibsim):
    verbcast fabric netlist --fabric fat-tree:4,3 -o net && IBSIM_SOCKNAME=lab ibsim -s net
    export IBSIM_SOCKNAME=lab SIM_HOST=P000 \\
      LD_PRELOAD=/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so
    verbcast fabric program --fabric fat-tree:4,3 --group P000,P200,P201
    verbcast fabric program --fabric fat-tree:4,3 --group P000,P200,P201 \\
      --write --save before.json
    verbcast fabric program --restore before.json --write

  The same on a real fabric, first without writing:
    ibnetdiscover > cluster.net
    verbcast fabric program --real-fabric --fabric file:cluster.net \\
      --group node1,node2 --scheme opensm

  What a forwarding scheme does to time: the papers' figures, in seconds on small fabrics, then
  in full; and whether the difference is still there if all sources send to the same group:
    verbcast fabric figures --quick -o quick
    verbcast fabric figures -o figures
    verbcast fabric figures --paper fat-tree --groups shared -o shared

  A single figure with messages in packets of 2 KiB, on 4X EDR links with room for eight packets:
    verbcast fabric figures --paper mesh --figure 12 \\
      --packet 2K --byte-time 80 --input-buffers 8 -o edr

  What it does to a broadcast protocol, alone and beside other jobs:
    verbcast sim --fabric fat-tree:8,3 --ranks 128 --algorithm window
    verbcast sim --fabric fat-tree:8,3 --ranks 32 --jobs 4 --placement spread \\
      --scheme opensm --size 64K

Schemes for multicast tables (--scheme):
  cyclic, xy          the papers' schemes, corrected: a tree for each way up, or for each row of
                      sources
  literal             the union as both papers print it, which can forward in circles
  opensm              one tree for each group, from the switch that is nearest to its farthest
                      member
  omnipath            one tree for all groups, through all switches; joins change one switch
  omnipath-pruned     the part of that tree that members and named senders need

A check starts ibsim and OpenSM, which end with it, and needs no rights and no device. What is programmed goes into \
blocks of 32 MLIDs that no switch uses, never the first, as OpenSM writes whole blocks; where the subnet manager \
has set MulticastFDBTop, up to there only. If anything fails, what was written is taken back.

Figures are simulated link by link: virtual cut-through, buffers for each port and lane, credits, first come first \
served, copies made in the switches. A packet of L bytes through h switches takes 20(h+1) + 100h + 4L ns when nothing is in \
its way. All sources send one message at time 0; a figure shows when the last of all copies is delivered. What the papers \
leave open is an option (verbcast fabric figures --help). Each figure is NAME.svg and NAME.json in the folder; summary.json, \
which --json prints, has links (their parameters), groups, order, unicast, packet_bytes, draws, seed, figures (of each curve \
the time as a multiple of the proposed scheme's: first, last, least, most over sizes; stuck: sizes with a deadlock) and run \
(events, wall_seconds, million_events_per_second). In NAME.json: paper, figure, title, fabric, sources, members, and of each \
curve the points: bytes, makespan_ns, mean_ns, floor_ns (the bytes of the busiest receiver), busiest_link_ns, delivered, \
events, stuck, fault.

Exit status: 0 if all is well, 1 if tables differ or a packet does not come to whom it should, 2 if the command line is wrong.";
