import { Option, type Command } from 'commander';
import type { ExplainOptions } from '../actions/explain-actions.ts';
import type { Terminal } from '../output/terminal.ts';
import { addPlace, duration, examples, outputOption, placeWords } from './options.ts';

/** `earshot explain`. */
export function addExplain(program: Command, terminal: Terminal): void {
  addPlace(
    program
      .command('explain')
      .description('follow an object from client to server, and show where it breaks and what to do')
      .argument(
        '<kind>',
        'kind of the object, such as listener, connector, link or site; key, for a routing key; in a cluster also pod, pvc or networkobserver; or KIND/NAME',
      )
      .argument('[name]', 'name of the object')
      .option(
        '--probe',
        'send traffic: along the path to a routing key and to its server, or to the addresses of a Listener of listeners.stackable.tech',
      )
      .option('--short', 'show only what does not work')
      .addOption(failOnOption())
      .addOption(new Option('--wait <duration>', 'try again until nothing fails or waits, at most for this time').argParser(duration))
      .addOption(outputOption()),
  )
    .addHelpText(
      'after',
      examples(
        'earshot explain listener web',
        'earshot explain listener web --probe',
        'earshot explain link west --short',
        'earshot explain key web -o json',
      ),
    )
    .addHelpText(
      'after',
      '\nExit codes: 0 if nothing fails, 1 for a failure, 3 if it only waits for something, 4 if the object does not exist, 6 if nothing runs the site.',
    )
    .action(async (first: string, second: string | undefined, options: ExplainOptions, command: Command) => {
      // As objects are shown: a routing key may have a slash too.
      const [, kind = first, name = second] = second === undefined ? (/^([^/]+)\/(.+)$/.exec(first) ?? []) : [];
      const { explain, isKindWord } = await import('../actions/explain-actions.ts');
      if (name === undefined)
        command.error(
          isKindWord(first)
            ? `error: no object is named: give ${first} NAME or ${first}/NAME`
            : `error: no kind is named: give it before the name, such as listener ${first}`,
        );
      await explain(placeWords(command), terminal, { kind, name }, options);
    });
}

export function failOnOption(): Option {
  return new Option('--fail-on <state>', 'least severe state that is a failure').choices(['fail', 'warn']).default('fail');
}
