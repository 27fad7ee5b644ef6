import type { JSX } from 'preact';
import { route, setQuery } from './route.ts';

/** Buttons of which one is pressed: a parameter of the view's address. */
export function Choices({
  label,
  parameter,
  choices,
}: {
  readonly label: string;
  readonly parameter: string;
  readonly choices: readonly (readonly [value: string, title: string])[];
}): JSX.Element {
  const chosen = route.value.query.get(parameter) ?? '';
  return (
    <div class="choices" role="group" aria-label={label}>
      {choices.map(([value, title]) => (
        <button key={value} type="button" aria-pressed={value === chosen} onClick={() => setQuery(parameter, value)}>
          {title}
        </button>
      ))}
    </div>
  );
}

/** Shows all objects, or those that are not ready. */
export function ReadinessChoices(): JSX.Element {
  return (
    <Choices
      label="State of the objects"
      parameter="state"
      choices={[
        ['', 'All'],
        ['problem', 'Not ready'],
      ]}
    />
  );
}
