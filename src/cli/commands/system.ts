import { Option, type Command } from 'commander';
import { addApply } from './apply.ts';
import { historyOption, publicUrlOption } from './console.ts';
import {
  addPlace,
  duration,
  examples,
  onMachine,
  outputOption,
  placeWords,
  saidMachine,
  servicePort,
  type OutputOptions,
} from './options.ts';
import type { ConsoleServiceOptions } from '../actions/console-service.ts';
import type { Terminal } from '../output/terminal.ts';

interface InstallWords {
  readonly start: boolean;
  readonly print?: boolean;
  readonly image?: string;
  readonly drainTimeout: number;
}

interface BundleWords {
  readonly input?: string;
  readonly type: 'tarball' | 'shell-script';
}

/** `earshot system`: the site as a systemd service. */
export function addSystem(program: Command, terminal: Terminal): void {
  const system = program
    .command('system')
    .description('run the site of the namespace as a service: a process or, with --platform podman or docker, containers');
  const verb = (name: string, description: string): Command =>
    addPlace(system.command(name).description(description)).addHelpText('after', examples(`earshot -n west system ${name}`));

  verb('install', 'write a unit for the namespace, and start it now and at each boot')
    .option('--no-start', 'only write it')
    .option('--print', 'print the unit, and write nothing')
    .option(
      '--image <reference>',
      'image of containers; left out: $SKUPPER_ROUTER_IMAGE, or earshot of $SKUPPER_IMAGE_REGISTRY or localhost',
    )
    .addOption(
      new Option('--drain-timeout <duration>', 'how long open connections may go on at a stop').argParser(duration).default(30_000, '30s'),
    )
    .addHelpText(
      'after',
      '\nFor root it is a unit of the system; for others one of their own (systemctl --user), which runs beyond their' +
        '\nlogout only after `loginctl enable-linger`.' +
        '\nContainers need no systemd: without it the engine runs them, and starts none at boot.',
    )
    .action(async (options: InstallWords, command: Command) => {
      const { install } = await import('../actions/system-actions.ts');
      await install(await onMachine(command, 'system'), { ...options, platform: saidMachine(command) }, terminal);
    });
  verb('uninstall', 'end the service and remove its unit; the namespace stays')
    .option('--purge', 'delete the namespace too, with its keys')
    .option('-f, --force', 'end and delete all sites of this user on this machine, in all namespaces, with their keys')
    .action(async ({ force, purge }: { readonly force?: boolean; readonly purge?: boolean }, command: Command) => {
      const { uninstall, uninstallAll } = await import('../actions/system-actions.ts');
      const namespace = await onMachine(command, 'system');
      await (force === true ? uninstallAll(terminal) : uninstall(namespace, { purge: purge === true }, terminal));
    });
  verb('start', 'start the service').action(async (_options: object, command: Command) => {
    const namespace = await onMachine(command, 'system');
    if (await isPrepared(command, namespace, terminal)) return;
    await (await import('../actions/system-actions.ts')).start(namespace, saidMachine(command), terminal);
  });
  verb('stop', 'end the service, after open connections had their time').action(async (_options: object, command: Command) =>
    (await import('../actions/system-actions.ts')).stop(await onMachine(command, 'system'), terminal),
  );
  verb('reload', 'read all files again; no connection is lost').action(async (_options: object, command: Command) => {
    const namespace = await onMachine(command, 'system');
    if (await isPrepared(command, namespace, terminal)) return;
    await (await import('../actions/system-actions.ts')).reload(namespace, terminal);
  });
  verb('status', 'show whether the site runs, and as what')
    .addOption(outputOption())
    .action(async ({ output }: OutputOptions, command: Command) =>
      (await import('../actions/system-actions.ts')).showSystem(await onMachine(command, 'system'), output, terminal),
    );
  addPlace(
    system
      .command('generate-bundle')
      .description('write one file that installs a copy of the site on another machine')
      .argument('<name>', 'name of the file, without its extension')
      .option('--input <directory>', "directory of resources, or of resources/, certs/ and issuers/ (default: the namespace's own)")
      .addOption(new Option('--type <type>', 'what to write').choices(['tarball', 'shell-script']).default('tarball')),
  )
    .addHelpText(
      'after',
      examples('earshot system generate-bundle west', 'earshot system generate-bundle west --input west/ --type shell-script'),
    )
    .addHelpText('after', '\nThe site there gets an identity of its own. The file is written below bundles/, beside the namespaces.')
    .action(async (name: string, options: BundleWords, command: Command) => {
      const namespace = await onMachine(command, 'system generate-bundle');
      const [{ generateBundle }, { machinePlatformFor }] = await Promise.all([
        import('../actions/bundle-actions.ts'),
        import('../resources.ts'),
      ]);
      await generateBundle(namespace, name, { ...options, platform: await machinePlatformFor(placeWords(command)) }, terminal);
    });
  verb('network-observer', 'run the console as a service, which starts and stops with the site')
    .addOption(new Option('--port <number>', 'port on the loopback address').argParser(servicePort).default(8090))
    .addOption(publicUrlOption())
    .addOption(historyOption())
    .option('--uninstall', 'end the service and remove its unit')
    .addHelpText('after', '\nThe page cannot change anything. `earshot console link` prints a link to it.')
    .action(async ({ uninstall, ...options }: ConsoleServiceOptions & { readonly uninstall?: boolean }, command: Command) => {
      const namespace = await onMachine(command, 'system network-observer');
      const { installConsole, uninstallConsole } = await import('../actions/console-service.ts');
      await (uninstall === true ? uninstallConsole(namespace, terminal) : installConsole(namespace, options, terminal));
    });
  addApply(system, terminal);
}

/** Writes the unit if a playbook of Skupper runs the command in its container. */
async function isPrepared(command: Command, namespace: string, terminal: Terminal): Promise<boolean> {
  const { playbookHome } = await import('../../platform/linux/layout.ts');
  const home = playbookHome(process.env);
  if (home === undefined) return false;
  const [{ prepareUnit }, { machinePlatformFor }] = await Promise.all([
    import('../actions/playbook-actions.ts'),
    import('../resources.ts'),
  ]);
  await prepareUnit({ namespace, platform: await machinePlatformFor(placeWords(command)), home }, terminal);
  return true;
}
