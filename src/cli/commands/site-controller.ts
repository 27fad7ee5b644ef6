import { readFileSync } from 'node:fs';
import { InvalidArgumentError, type Command } from 'commander';
import { untilStopped } from '../processes/signals.ts';
import { flagOptions, withTwoDashes } from './site-controller-flags.ts';
import { startOf, type Flags } from './site-controller-settings.ts';

/** `earshot site-controller`. It takes the flags and environment variables that installations of Skupper's controller set. */
export function addSiteController(program: Command): void {
  const command = program
    .command('site-controller')
    .description(
      'manage the sites of a cluster: their routers, Services, certificates and tokens; runs as a Deployment, one replica leads',
    );
  for (const option of flagOptions()) command.addOption(option);
  const parse = command.parseOptions.bind(command);
  command.parseOptions = (words) => parse(withTwoDashes(words));
  command
    .addHelpText(
      'after',
      '\nA flag takes precedence over its variable, and may begin with one dash. SKUPPER_KUBE_ADAPTOR_IMAGE, SKUPPER_KUBE_ADAPTOR_IMAGE_PULL_POLICY,\n' +
        'SKUPPER_KUBE_CLIENT_QPS and SKUPPER_KUBE_CLIENT_BURST have no effect.\n' +
        '\nExample:\n  earshot site-controller --namespace skupper --enable-grants --grant-server-autoconfigure',
    )
    .action(async (flags: Flags) => {
      const start = startIn(flags, command);
      const { runSiteController } = await import('../processes/site-controller.ts');
      await runSiteController(start, untilStopped());
    });
}

function startIn(flags: Flags, command: Command): ReturnType<typeof startOf> {
  try {
    return startOf(flags, process.env, namespaceOfPod());
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    return command.error(`error: ${error.message}`);
  }
}

function namespaceOfPod(): string | undefined {
  try {
    return readFileSync('/var/run/secrets/kubernetes.io/serviceaccount/namespace', 'utf8').trim();
  } catch {
    return undefined;
  }
}
