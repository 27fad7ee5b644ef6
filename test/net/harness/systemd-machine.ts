import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { run, SYSTEM_PATH } from '../../harness/command.ts';
import type { Program } from '../../harness/program.ts';
import { eventually } from '../../harness/wait.ts';
import type { Host } from './host.ts';

/**
 * Starts systemd as process 1 of its own PID, mount, IPC and UTS namespace, and of a cgroup of its own. $1 is the root, $2 a cgroup.
 * cgroup v2 is mounted here, because a machine may use version 1 itself. The machine's own folders are not reachable afterwards.
 */
const BOOT = `set -e
mount --make-rprivate /
mount --bind "$1" "$1"
cd "$1"
mount -t proc -o nosuid,noexec,nodev proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro,nosuid,noexec,nodev proc/sys
mount -t sysfs -o ro,nosuid,noexec,nodev sysfs sys
mount -t cgroup2 -o nosuid,noexec,nodev cgroup sys/fs/cgroup
mount -t tmpfs -o mode=0755,nosuid dev dev
for node in null zero full random urandom tty; do touch "dev/$node"; mount --bind "/dev/$node" "dev/$node"; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=1777,nosuid,nodev shm dev/shm
mount -t tmpfs -o mode=0755,nosuid,nodev run run
mkdir -p run/machine
pivot_root . run/machine
exec env -i container=earshot-test PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -c 'umount -l /run/machine && rmdir /run/machine && exec /lib/systemd/systemd --system' < /dev/null
`;
const ENTER = `set -e
at=$(mktemp -d)
mount -t cgroup2 cgroup "$at"
mkdir -p "$at/$2"
echo $$ > "$at/$2/cgroup.procs"
umount -l "$at"
rmdir "$at"
exec unshare --cgroup --fork --kill-child --pid --mount --ipc --uts sh -c "$3" boot "$1" "$2"
`;

/** Removes the cgroup $1 once its processes are gone. */
const LEAVE = `at=$(mktemp -d)
mount -t cgroup2 cgroup "$at"
for try in $(seq 50); do find "$at/$1" -depth -type d -exec rmdir {} + 2>/dev/null; [ -e "$at/$1" ] || break; sleep 0.1; done
umount -l "$at"
rmdir "$at"
`;

const cgroupOf = ({ netns }: Host): string => `earshot-${netns}`;

/** A host whose file system is a Debian of its own, run by a real systemd. */
export class SystemdMachine implements AsyncDisposable {
  readonly host: Host;
  readonly root: string;
  readonly #program: Program;
  readonly #init: string;

  private constructor(host: Host, root: string, program: Program, init: string) {
    this.host = host;
    this.root = root;
    this.#program = program;
    this.#init = init;
  }

  /** @param base a Debian with systemd, which is copied. @throws HarnessError with its output if systemd does not start */
  static async start(host: Host, base: string): Promise<SystemdMachine> {
    const root = `${host.dir}/root`;
    await run('cp', ['--archive', '--reflink=auto', base, root]);
    // Users of the machine must be able to enter it.
    await run('chmod', ['755', root]);
    // Otherwise this is a first boot, which asks questions.
    await writeFile(`${root}/etc/machine-id`, `${randomBytes(16).toString('hex')}\n`);
    const program = await host.spawn(['sh', '-c', ENTER, 'enter', root, cgroupOf(host), BOOT], { name: 'systemd' });
    const init = await eventually('process 1 of the machine', async () => {
      const children = await readFile(`/proc/${program.pid}/task/${program.pid}/children`, 'utf8');
      // Before it there are the shell's other children.
      const [child] = /^\d+/.exec(children) ?? [];
      const name = child === undefined ? '' : await readFile(`/proc/${child}/comm`, 'utf8');
      return name === 'systemd\n' ? child : undefined;
    });
    const machine = new SystemdMachine(host, root, program, init);
    await program.ready(() => machine.#isUp(), { timeoutMs: 60_000 });
    return machine;
  }

  /** Runs a command line in it, as root in /root. */
  sh(line: string): Promise<string> {
    const environment = ['env', '-i', 'HOME=/root', `PATH=${SYSTEM_PATH}`, 'LANG=C.UTF-8'];
    return run('nsenter', ['--target', this.#init, '--all', ...environment, 'sh', '-c', `cd /root && ${line}`], { timeoutMs: 180_000 });
  }

  async #isUp(): Promise<boolean> {
    const state = await this.sh('systemctl is-system-running || true');
    return /^(?:running|degraded)/.test(state);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program.kill();
    await run('sh', ['-c', LEAVE, 'leave', cgroupOf(this.host)]);
  }
}
