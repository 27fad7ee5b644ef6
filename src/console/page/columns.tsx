/** Columns that several tables have. */
import { Message, Since } from './parts.tsx';
import { href } from './route.ts';
import type { Column } from './table.tsx';

export const keyColumn: Column<{ readonly key: string }> = {
  name: 'key',
  title: 'Routing key',
  value: ({ key }) => key,
  cell: ({ key }) => (
    <a class="row-link" href={href(['services', key])}>
      {key}
    </a>
  ),
};

export const messageColumn: Column<{ readonly message: string }> = {
  name: 'message',
  title: 'Message',
  value: ({ message }) => message,
  cell: ({ message }) => <Message text={message} />,
};

export const ageColumn: Column<{ readonly created?: string }> = {
  name: 'created',
  title: 'Age',
  isNumber: true,
  needs: 'wide',
  value: ({ created }) => (created === undefined ? undefined : Date.parse(created)),
  cell: ({ created }) => <Since time={created} />,
};
